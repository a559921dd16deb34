import type { Result } from '@modelcontextprotocol/server';
import type { UpstreamTask } from '../../../workflows/domain/relay.ts';
import type { RelayedRound } from '../relay/conversation.ts';
import { TASK_LIFETIME_MS } from '../relay/relayed-tasks.ts';
import { forwardedResult, withoutForged, withoutReserved } from './upstream-result.ts';

/** Questions of an upstream, member for member, with a state of ours. @see SEP-2322, input required */
export function renderRelayedRound({ inputRequests, requestState, meta }: RelayedRound): Result {
  const kept = withoutReserved(meta);
  return {
    resultType: 'input_required',
    ...(inputRequests !== undefined && { inputRequests: withoutForged(inputRequests) }),
    requestState,
    ...(kept !== undefined && { _meta: kept }),
  };
}

/** The answer to a call that its upstream made a task. What a task has come to is not for this answer (TASK-016). */
export function renderRelayedCreation(taskId: string, task: UpstreamTask): Result {
  const { result: _result, error: _error, inputRequests: _inputRequests, ...created } = renderRelayedTask(taskId, task);
  return { ...created, resultType: 'task' };
}

/** The answer to `tasks/get`: the upstream's, under our id. No approval was asked for, so none is spoken of. */
export function renderRelayedTask(taskId: string, task: UpstreamTask): Result {
  // Answers to questions of a task need no state (MRTR-025).
  const { requestState: _requestState, result, ...rest } = task;
  return {
    ...forwardedResult(rest),
    resultType: 'complete',
    taskId,
    // Not longer than the id can be used.
    ttlMs: Math.min(task.ttlMs ?? TASK_LIFETIME_MS, TASK_LIFETIME_MS),
    ...(result !== undefined && { result: { ...forwardedResult(result), resultType: 'complete' } }),
  };
}
