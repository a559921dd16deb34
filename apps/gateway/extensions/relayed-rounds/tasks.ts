import type { Result } from '@modelcontextprotocol/server';
import { CountersignError } from '../../../../workflows/domain/errors.ts';
import type { Principal } from '../../../../workflows/domain/principal.ts';
import type { TaskMethod, UpstreamRelay } from '../../../../workflows/domain/relay-port.ts';
import type { UpstreamTask } from '../../../../workflows/domain/relay.ts';
import { TASK_LIFETIME_MS, type SealedStates, type StateScope } from '../sealed-state.ts';
import type { Redaction, ToolLookup } from '../redaction.ts';
import { INVALID_PARAMS } from '../../wire/identifiers.ts';
import { orUndeclared, type Undeclared } from './conversation.ts';
import type { Clock } from '../../../shared/clock.ts';
import { renderRelayedTask } from '../../wire/upstream-result.ts';
import { missingCapabilities } from '../../wire/sdk-overlay.ts';
import { conversationOf, undeclaredIn, type Asked } from '../../wire/request-context.ts';

export interface RelayedTaskDeps extends ToolLookup {
  readonly sealedStates: SealedStates;
  readonly upstreams: ToolLookup['upstreams'] & Pick<UpstreamRelay, 'task'>;
  readonly redaction: Pick<Redaction, 'ofTask'>;
  readonly settings: {
    /** Limit on one forwarded request. */
    readonly executionTimeoutMs: number;
  };
}

/** A task that an upstream opened for an allowed call. Nothing of it is stored here. */
export interface RelayedTask {
  /** The sealed id by which its owner knows it. */
  readonly taskId: string;
  readonly upstream: string;
  readonly upstreamTaskId: string;
  /** Public name. */
  readonly tool: string;
}

/** Somebody who asks about a task of his. */
export interface TaskAsker extends Asked {
  readonly caller: Principal;
  readonly signal: AbortSignal;
}

/** Never that of a round, which is a digest. */
const scopeOf = (caller: Principal): StateScope => ({ caller, about: 'a task of an upstream' });

/** The task id that the caller gets. */
export function sealTask(
  sealedStates: SealedStates,
  caller: Principal,
  task: Omit<RelayedTask, 'taskId'>,
): Promise<string> {
  return sealedStates.seal({ kind: 'relayed_task', ...task }, scopeOf(caller), TASK_LIFETIME_MS / 1_000);
}

/**
 * The caller's task of an upstream that this id leads to. `undefined` for any other id, somebody else's among them: it is
 * looked up as one of ours then, so that both are refused on the same way.
 */
export async function findRelayedTask(
  sealedStates: SealedStates,
  caller: Principal,
  taskId: string,
): Promise<RelayedTask | undefined> {
  const opened = await sealedStates.open(taskId, scopeOf(caller));
  if (opened?.kind !== 'relayed_task') return undefined;
  const { upstream, upstreamTaskId, tool } = opened;
  return { taskId, upstream, upstreamTaskId, tool };
}

/**
 * Asks the upstream about a task, or tells it something, as the caller may see it. Throws `ERR_GATED_CALL_NOT_FOUND` when it
 * has no such task any more, and `ERR_UPSTREAM_UNAVAILABLE` for whatever else is no answer.
 */
export async function askAboutTask(
  deps: RelayedTaskDeps,
  { upstream, upstreamTaskId, tool }: RelayedTask,
  method: TaskMethod,
  asker: TaskAsker,
): Promise<{ readonly kind: 'task'; readonly task: UpstreamTask } | { readonly kind: 'done' } | Undeclared> {
  const { upstreams, redaction, settings } = deps;
  const { caller, signal, capabilities } = asker;
  // Only an update brings answers: reading changes nothing.
  const asked = method === 'tasks/update' ? asker : { capabilities, inputResponses: new Map() };
  const answer = await upstreams.task(
    { upstream, method, upstreamTaskId, tool, caller, conversation: conversationOf(asked) },
    { signal, timeoutMs: settings.executionTimeoutMs },
  );
  if (answer.kind === 'done') return answer;
  if (answer.kind === 'task') {
    const task = await redaction.ofTask(answer.task, tool, deps);
    const missing = undeclaredIn(task.inputRequests, capabilities ?? {});
    return missing === undefined ? { kind: 'task', task } : { kind: 'undeclared', requiredCapabilities: missing };
  }
  if (answer.kind === 'error') {
    const error = orUndeclared(answer, asker);
    if (error.kind === 'undeclared') return error;
    if (error.code === INVALID_PARAMS) throw new CountersignError('ERR_GATED_CALL_NOT_FOUND', 'no such task upstream');
  }
  throw new CountersignError('ERR_UPSTREAM_UNAVAILABLE', `a task cannot be asked about: ${answer.kind}`);
}

/** No listener makes us ask an upstream more often than this, and none waits longer for news, whatever the upstream says. */
const SHORTEST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;

/**
 * Shows a task of an upstream at each look, until it has ended, is gone, or nobody listens any more. The upstream is asked at
 * its own pace: it knows nothing of who listens here.
 */
export async function watchRelayedTask(
  deps: RelayedTaskDeps & { readonly clock: Clock },
  task: RelayedTask,
  asker: TaskAsker,
  show: (seen: UpstreamTask) => Promise<void>,
): Promise<void> {
  const { signal } = asker;
  let pauseMs = SHORTEST_PAUSE_MS;
  while (!signal.aborted) {
    const seen = await look(deps, task, asker);
    if (signal.aborted || seen === 'gone') return;
    if (seen !== 'unseen') {
      await show(seen);
      if (seen.status !== 'working' && seen.status !== 'input_required') return;
      pauseMs = Math.min(LONGEST_PAUSE_MS, Math.max(SHORTEST_PAUSE_MS, seen.pollIntervalMs ?? 0));
    }
    await deps.clock.after(pauseMs, signal);
  }
}

/** `unseen`: it cannot be looked at now, or not by a listener that declared so little. */
async function look(
  deps: RelayedTaskDeps,
  task: RelayedTask,
  asker: TaskAsker,
): Promise<UpstreamTask | 'gone' | 'unseen'> {
  try {
    const seen = await askAboutTask(deps, task, 'tasks/get', asker);
    return seen.kind === 'task' ? seen.task : 'unseen';
  } catch (error) {
    if (!(error instanceof CountersignError)) throw error;
    if (error.code === 'ERR_GATED_CALL_NOT_FOUND') return 'gone';
    if (error.retryable) return 'unseen';
    throw error;
  }
}

/** `tasks/get`, `tasks/update` and `tasks/cancel` of a task that an upstream opened. @see SEP-2663 */
export async function relayTaskMethod(
  deps: RelayedTaskDeps,
  task: RelayedTask,
  method: TaskMethod,
  asker: TaskAsker,
): Promise<Result> {
  const answer = await askAboutTask(deps, task, method, asker);
  if (answer.kind === 'done') return { resultType: 'complete' };
  if (answer.kind === 'undeclared') throw missingCapabilities(answer.requiredCapabilities);
  return renderRelayedTask(task.taskId, answer.task);
}
