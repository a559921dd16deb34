import { ProtocolError, type CallToolResult, type Result } from '@modelcontextprotocol/server';
import { type JsonObject, objectOf } from '../../../workflows/domain/canonical-json.ts';
import type { UpstreamAnswer, UpstreamRound, UpstreamTask } from '../../../workflows/domain/upstream-ports.ts';
import {
  INTERNAL_ERROR,
  INVALID_PARAMS,
  INVALID_REQUEST_STATE,
  READ_DENIED,
  RESERVED_META_PREFIXES,
  TOO_MANY_REQUESTS,
  TRANSPORT_ERROR_CODES,
  EARLIER_RESOURCE_NOT_FOUND,
} from './identifiers.ts';
import type { RelayedRound, Undeclared } from '../calls/tool-call.ts';
import { TASK_LIFETIME_MS } from '../extensions/sealed-state.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import { missingCapabilities } from './sdk-overlay.ts';

type Meta = Readonly<Record<string, unknown>>;

/** An upstream's `_meta` without the keys that only the gateway or the protocol may write. `undefined` if nothing is left. */
export function withoutReserved(meta: Meta | undefined): Record<string, unknown> | undefined {
  const kept = Object.entries(meta ?? {}).filter(
    ([key]) => !RESERVED_META_PREFIXES.some((prefix) => key.startsWith(prefix)),
  );
  return kept.length > 0 ? Object.fromEntries(kept) : undefined;
}

/**
 * Removes reserved keys from every `_meta` within a value: blocks of content, messages and resources have their own, and clients read it
 * like the gateway's. A structured result is left unchanged.
 */
export function withoutForged<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(withoutForged) as T;
  const members = Object.entries(value).flatMap(([name, member]: [string, unknown]): [string, unknown][] => {
    if (name === 'structuredContent') return [[name, member]];
    // Clients ignore metadata that is not an object.
    if (name !== '_meta' || typeof member !== 'object') return [[name, withoutForged(member)]];
    const meta = withoutReserved(objectOf(member));
    return meta === undefined ? [] : [[name, meta]];
  });
  return Object.fromEntries(members) as T;
}

/** An upstream's result without reserved `_meta`. The SDK adds `resultType` in revisions that have it. */
export function forwardedResult(result: JsonObject): CallToolResult {
  const { _meta, resultType: _resultType, ...rest } = result;
  return withoutForged({ ...rest, ...(_meta !== undefined && { _meta }) }) as unknown as CallToolResult;
}

type UpstreamError = Extract<UpstreamAnswer, { kind: 'error' }>;

/**
 * An upstream's JSON-RPC error without reserved keys in its data. A code that has a meaning for the gateway is replaced, and its data is
 * dropped: the gateway's own transport would act on it, or a client would take it for the gateway's word.
 */
export function forwardedError({ code, message, data, namesAddresses }: UpstreamError): ProtocolError {
  if (namesAddresses !== true && isOurs(code, data)) return new ProtocolError(INTERNAL_ERROR, message);
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

/** An upstream's questions, unchanged, with the gateway's request state. @see SEP-2322, input required */
export function renderRelayedRound({ inputRequests, requestState, meta }: RelayedRound): Result {
  const kept = withoutReserved(meta);
  return {
    resultType: 'input_required',
    ...(inputRequests !== undefined && { inputRequests: withoutForged(inputRequests) }),
    requestState,
    ...(kept !== undefined && { _meta: kept }),
  };
}

/** The answer to a call that its upstream made a task. It has no result, error or questions of the task (TASK-016). */
export function renderRelayedCreation(taskId: string, task: UpstreamTask): Result {
  const { result: _result, error: _error, inputRequests: _inputRequests, ...created } = renderRelayedTask(taskId, task);
  return { ...created, resultType: 'task' };
}

/** The answer to `tasks/get`: the upstream's task under the gateway's id. It does not mention approvals, because none was requested. */
export function renderRelayedTask(taskId: string, task: UpstreamTask): Result {
  // Input for a task needs no state (MRTR-025).
  const { requestState: _requestState, result, ...rest } = task;
  return {
    ...forwardedResult(rest),
    resultType: 'complete',
    taskId,
    // At most as long as the id is valid.
    ttlMs: Math.min(task.ttlMs ?? TASK_LIFETIME_MS, TASK_LIFETIME_MS),
    ...(result !== undefined && { result: { ...forwardedResult(result), resultType: 'complete' } }),
  };
}

export type ReadAnswer = Exclude<UpstreamAnswer, UpstreamRound> | RelayedRound | Undeclared;

/**
 * An upstream's answer to a request that calls no tool. The upstream's caching hints are dropped, because policy may refuse the next
 * request. Throws the upstream's own error, or `ERR_UPSTREAM_UNAVAILABLE`.
 */
export function renderRead(answer: ReadAnswer): Result {
  if (answer.kind === 'error') {
    throw forwardedError(answer.code === EARLIER_RESOURCE_NOT_FOUND ? { ...answer, code: INVALID_PARAMS } : answer);
  }
  if (answer.kind === 'undeclared') throw missingCapabilities(answer.requiredCapabilities);
  if (answer.kind === 'relayed_round') return renderRelayedRound(answer);
  if (answer.kind !== 'result') throw new CountersignError('ERR_UPSTREAM_UNAVAILABLE', answer.cause);
  const { ttlMs: _ttlMs, cacheScope: _cacheScope, ...rest } = forwardedResult(answer.result);
  return rest;
}
