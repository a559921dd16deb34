import { ProtocolError, type CallToolResult } from '@modelcontextprotocol/server';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { INTERNAL_ERROR, RESERVED_META_PREFIXES, TRANSPORT_ERROR_CODES } from './identifiers.ts';

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
