import { ProtocolError, type CallToolResult, type Result } from '@modelcontextprotocol/server';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { UpstreamAnswer } from '../../../workflows/domain/ports.ts';
import {
  EARLIER_RESOURCE_NOT_FOUND,
  INTERNAL_ERROR,
  INVALID_PARAMS,
  RESERVED_META_PREFIXES,
  TRANSPORT_ERROR_CODES,
} from './identifiers.ts';

type Meta = Readonly<Record<string, unknown>>;

/** An upstream's `_meta` without the keys that only we or the protocol may write. `undefined` when nothing is left. */
export function withoutReserved(meta: Meta | undefined): Record<string, unknown> | undefined {
  const kept = Object.entries(meta ?? {}).filter(
    ([key]) => !RESERVED_META_PREFIXES.some((prefix) => key.startsWith(prefix)),
  );
  return kept.length > 0 ? Object.fromEntries(kept) : undefined;
}

/** An upstream's result, unchanged but for reserved `_meta`. The SDK adds `resultType` where the revision has it. */
export function forwardedResult(result: JsonObject): CallToolResult {
  const { _meta, resultType: _resultType, ...rest } = result;
  const meta = withoutReserved(_meta as Meta | undefined);
  return { ...rest, ...(meta !== undefined && { _meta: meta }) } as unknown as CallToolResult;
}

/** An upstream's JSON-RPC error. A code that our own transport would act on is replaced. */
export function forwardedError(error: { code: number; message: string }): ProtocolError {
  const { from, to } = TRANSPORT_ERROR_CODES;
  const isTransportCode = error.code >= from && error.code <= to;
  return new ProtocolError(isTransportCode ? INTERNAL_ERROR : error.code, error.message);
}

/**
 * An upstream's answer to a request that calls no tool. How long it may be kept, and by whom, is not for the upstream to say:
 * the next request may be refused. Throws the upstream's own error, or `ERR_UPSTREAM_UNAVAILABLE`.
 */
export function forwardedRead(answer: UpstreamAnswer): Result {
  if (answer.kind === 'error') {
    const { code, message } = answer;
    throw code === EARLIER_RESOURCE_NOT_FOUND ? new ProtocolError(INVALID_PARAMS, message) : forwardedError(answer);
  }
  if (answer.kind !== 'result') throw new CountersignError('ERR_UPSTREAM_UNAVAILABLE', answer.cause);
  const { ttlMs: _ttlMs, cacheScope: _cacheScope, ...rest } = forwardedResult(answer.result);
  return rest;
}
