import { ProtocolError, type CallToolResult } from '@modelcontextprotocol/server';
import { objectOf, type Json, type JsonObject } from '../../../workflows/domain/canonical-json.ts';
import type { UpstreamAnswer } from '../../../workflows/domain/upstream-ports.ts';
import {
  INTERNAL_ERROR,
  INVALID_PARAMS,
  INVALID_REQUEST_STATE,
  READ_DENIED,
  RESERVED_META_PREFIXES,
  TOO_MANY_REQUESTS,
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

/**
 * The same of everything that an upstream sends, wherever `_meta` stands in it: blocks of content, messages and resources have
 * their own, and clients read it as they read ours. A structured result is the tool's, member for member.
 */
export function withoutForged<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(withoutForged) as T;
  const members = Object.entries(value).flatMap(([name, member]: [string, unknown]): [string, unknown][] => {
    if (name === 'structuredContent') return [[name, member]];
    // Metadata that is no object says nothing to a client.
    if (name !== '_meta' || typeof member !== 'object') return [[name, withoutForged(member)]];
    const meta = withoutReserved(objectOf(member as Json));
    return meta === undefined ? [] : [[name, meta]];
  });
  return Object.fromEntries(members) as T;
}

/** An upstream's result, unchanged but for reserved `_meta`. The SDK adds `resultType` where the revision has it. */
export function forwardedResult(result: JsonObject): CallToolResult {
  const { _meta, resultType: _resultType, ...rest } = result;
  return withoutForged({ ...rest, ...(_meta !== undefined && { _meta }) }) as unknown as CallToolResult;
}

type UpstreamError = Extract<UpstreamAnswer, { kind: 'error' }>;

/**
 * An upstream's JSON-RPC error, unchanged but for reserved keys in its data. A code with a meaning of ours is replaced, and what
 * is said in its data with it: our own transport would act on it, or a client take it for our word.
 */
export function forwardedError({ code, message, data }: UpstreamError): ProtocolError {
  if (isOurs(code, data)) return new ProtocolError(INTERNAL_ERROR, message);
  return new ProtocolError(code, message, forwardedData(data));
}

function isOurs(code: number, data: UpstreamError['data']): boolean {
  if (code === INVALID_PARAMS) return objectOf(data)['reason'] === INVALID_REQUEST_STATE;
  const { from, to } = TRANSPORT_ERROR_CODES;
  return (code >= from && code <= to) || code === READ_DENIED || code === TOO_MANY_REQUESTS;
}

function forwardedData(data: UpstreamError['data']): unknown {
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return data;
  return withoutForged(withoutReserved(data as JsonObject) ?? {});
}
