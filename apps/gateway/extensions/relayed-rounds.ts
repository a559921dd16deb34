import type { Result } from '@modelcontextprotocol/server';
import type {
  InvocationResult,
  TaskMethod,
  Unanswered,
  UpstreamRelay,
  UpstreamRound,
  UpstreamTask,
} from '../../../workflows/domain/upstream-ports.ts';
import {
  type ForwardingSettings,
  refused,
  type RelayedRound,
  type RelayedRounds,
  type ToolCall,
  type ToolCallAnswer,
  type Undeclared,
} from '../calls/tool-call.ts';
import { INTERNAL_ERROR, MISSING_CAPABILITY, INVALID_PARAMS } from '../wire/identifiers.ts';
import {
  TASKS,
  undeclared,
  relayedCapabilities,
  undeclaredIn,
  conversationOf,
  type Asked,
} from '../wire/request-context.ts';
import type { Redaction, ToolLookup } from './redaction.ts';
import {
  callScope,
  type OpenedState,
  openRound,
  sealRound,
  TASK_LIFETIME_MS,
  type SealedStates,
  type StateScope,
} from './sealed-state.ts';
import { type Json, objectOf } from '../../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { Principal } from '../../../workflows/domain/principal.ts';
import type { Clock } from '../../shared/clock.ts';
import { renderRelayedTask } from '../wire/upstream-result.ts';
import { missingCapabilities } from '../wire/sdk-overlay.ts';

interface RelayedRoundDeps extends ToolLookup {
  readonly redaction: Pick<Redaction, 'withholds' | 'ofResult' | 'ofTask'>;
  readonly sealedStates: SealedStates;
}

/** An upstream may ask and open tasks only as the forwarded capabilities allow. */
const UNEXPECTED: Unanswered = {
  kind: 'error',
  code: INTERNAL_ERROR,
  message:
    'The upstream server sent something that it was not asked for. The tool may have run, and may have changed something: check before ' +
    'you try again.',
};

/** Relays questions and tasks of upstreams to the clients of allowed calls. Nothing is stored. */
export function createRelayedRounds(deps: RelayedRoundDeps): RelayedRounds {
  const { redaction, sealedStates } = deps;
  return {
    open: (binding, state) => openRound(sealedStates, callScope(binding), state),
    async handOn(call, { tool: { facts }, binding }, answer) {
      const ran = (outcome: InvocationResult): ToolCallAnswer => ({
        kind: 'ran',
        outcome: redaction.ofResult(facts, outcome),
      });
      switch (answer.kind) {
        case 'input_required':
          if (redaction.withholds(facts)) return ran(UNEXPECTED);
          return asAnswer(await handOnRound(sealedStates, callScope(binding), call, answer));
        case 'task': {
          if (undeclared(TASKS, call.capabilities ?? {}) !== undefined) return ran(UNEXPECTED);
          const { upstream, tool, caller } = binding;
          const { taskId: upstreamTaskId } = answer.task;
          const sealed = { kind: 'relayed_task', upstream, upstreamTaskId, tool } as const;
          const taskId = await sealedStates.seal(sealed, scopeOf(caller), TASK_LIFETIME_MS / 1_000);
          return {
            kind: 'ran',
            outcome: { kind: 'task', taskId, task: await redaction.ofTask(answer.task, tool, deps) },
          };
        }
        case 'error': {
          const error = orUndeclared(answer, call);
          return error.kind === 'undeclared' ? asAnswer(error) : ran(error);
        }
      }
    },
  };
}

function asAnswer(round: RelayedRound | Undeclared): ToolCallAnswer {
  if (round.kind === 'relayed_round') return { kind: 'asks', round };
  return refused({ reason: 'undeclared', requiredCapabilities: round.requiredCapabilities });
}

/** Relays a round of an upstream to a client that declared the needed capabilities. */
export async function handOnRound(
  sealedStates: SealedStates,
  scope: StateScope,
  { capabilities = {} }: Pick<Asked, 'capabilities'>,
  { kind: _kind, requestState: state, ...round }: UpstreamRound,
): Promise<RelayedRound | Undeclared> {
  const missing = undeclaredIn(round.inputRequests, capabilities);
  if (missing !== undefined) return { kind: 'undeclared', requiredCapabilities: missing };
  const held = { kind: 'relayed_round', ...(state !== undefined && { state }) } as const;
  return { kind: 'relayed_round', ...round, requestState: await sealRound(sealedStates, scope, held) };
}

/**
 * An upstream's error, or the capabilities that the client would have to declare to avoid it. Only relayed capabilities count: a client
 * that declares others would get the same error again.
 */
export function orUndeclared<T extends { readonly code: number; readonly data?: Json }>(
  error: T,
  { capabilities }: Pick<Asked, 'capabilities'>,
): T | Undeclared {
  if (error.code !== MISSING_CAPABILITY || capabilities === undefined) return error;
  const missing = undeclared(relayedCapabilities(objectOf(error.data)['requiredCapabilities']), capabilities);
  return missing === undefined ? error : { kind: 'undeclared', requiredCapabilities: missing };
}

export interface RelayedTaskDeps extends ToolLookup {
  readonly sealedStates: SealedStates;
  readonly upstreams: ToolLookup['upstreams'] & Pick<UpstreamRelay, 'task'>;
  readonly redaction: Pick<Redaction, 'ofTask'>;
  readonly settings: ForwardingSettings;
}

/** A task that an upstream opened for an allowed call. The gateway stores nothing of it. `taskId`: the sealed id that its owner has. */
export type RelayedTask = Extract<OpenedState, { kind: 'relayed_task' }> & { readonly taskId: string };

/** The task owner's request. */
type TaskAsker = Asked & Pick<ToolCall, 'caller' | 'signal'>;

/** Differs from the scope of every round, which is a digest. */
const scopeOf = (caller: Principal): StateScope => ({ caller, about: 'a task of an upstream' });

/**
 * The caller's task of an upstream that has this id. `undefined` for any other id, also of another caller's task. Such an id is then
 * looked up as an own task, so that both are refused in the same way.
 */
export async function findRelayedTask(
  sealedStates: SealedStates,
  caller: Principal,
  taskId: string,
): Promise<RelayedTask | undefined> {
  const opened = await sealedStates.open(taskId, scopeOf(caller));
  return opened?.kind === 'relayed_task' ? { ...opened, taskId } : undefined;
}

/**
 * Sends a task method to the upstream, and redacts the answer. Throws `ERR_GATED_CALL_NOT_FOUND` if the upstream no longer has the task,
 * and `ERR_UPSTREAM_UNAVAILABLE` if there is no usable answer.
 */
async function askAboutTask(
  deps: RelayedTaskDeps,
  { upstream, upstreamTaskId, tool }: RelayedTask,
  method: TaskMethod,
  asker: TaskAsker,
): Promise<{ readonly kind: 'task'; readonly task: UpstreamTask } | { readonly kind: 'done' } | Undeclared> {
  const { upstreams, redaction, settings } = deps;
  const { caller, signal, capabilities } = asker;
  // Only an update sends answers: a read changes nothing.
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

/** The limits of the poll interval that an upstream may ask for. */
const SHORTEST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;

/**
 * Polls a task of an upstream and shows it each time, until it has ended, is gone, or the listener has left. The upstream sets the poll
 * interval, because it cannot notify the listeners here.
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
    const seen = await poll(deps, task, asker);
    if (signal.aborted || seen === 'gone') return;
    if (seen !== 'unseen') {
      await show(seen);
      if (seen.status !== 'working' && seen.status !== 'input_required') return;
      pauseMs = Math.min(LONGEST_PAUSE_MS, Math.max(SHORTEST_PAUSE_MS, seen.pollIntervalMs ?? 0));
    }
    await deps.clock.after(pauseMs, signal);
  }
}

/** `unseen`: it cannot be read now, or the listener declared too few capabilities to read it. */
async function poll(
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
