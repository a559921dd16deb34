import { isTerminal } from '../../../workflows/domain/gated-call/gated-call.ts';
import type { GatedCallView } from '../../../workflows/domain/ports.ts';
import { subjectKey } from '../../../workflows/domain/principal.ts';
import {
  requestApproval,
  type ApprovalRequestDeps,
  type RequestableCall,
} from '../extensions/request-forms/request-input.ts';
import { watchTasks, type TaskWatchDeps } from '../tasks/watch.ts';
import { onAbort, type Places } from './concurrency-limit.ts';
import type { Rung, ToolCall, ToolCallAnswer } from './tool-call.ts';

export interface LadderDeps extends ApprovalRequestDeps, TaskWatchDeps {
  readonly gatedCalls: ApprovalRequestDeps['gatedCalls'] & TaskWatchDeps['gatedCalls'];
  readonly places: Places;
  readonly settings: ApprovalRequestDeps['settings'] & {
    /** How long a call of a client without tasks waits for its end. */
    readonly waitMs: number;
  };
}

/** What the operator chose for clients without tasks. */
export interface LadderSettings {
  /** How long their calls wait. Zero: not at all. */
  readonly waitSeconds: number;
  /** Whether those that could declare tasks have to; or for which tools. */
  readonly demandTasks: boolean | readonly string[];
}

/** How far up a client comes. One of an earlier revision can declare no tasks, so none are demanded of it. */
export function rungOf(
  {
    isModern,
    declaresTasks,
    tool,
  }: { readonly isModern: boolean; readonly declaresTasks: boolean; readonly tool: string },
  { waitSeconds, demandTasks }: LadderSettings,
): Rung {
  if (isModern && declaresTasks) return 'task';
  const isDemanded = typeof demandTasks === 'boolean' ? demandTasks : demandTasks.includes(tool);
  if (isModern && isDemanded) return 'error';
  return waitSeconds > 0 ? 'wait' : 'words';
}

/** Answers a call that an approval could cure, on the caller's rung. `undefined`: the decision has to be taken again. */
export async function answerHeld(
  deps: LadderDeps,
  call: ToolCall,
  denied: RequestableCall,
): Promise<ToolCallAnswer | undefined> {
  if (call.rung === 'words') return { kind: 'needs_tasks' };
  if (call.rung === 'error') return { kind: 'demands_tasks' };
  const opened = await requestApproval(deps, call, denied);
  if (opened?.kind !== 'task' || call.rung === 'task') return opened;
  if (call.rung === 'reference') return { ...opened, kind: 'requested' };
  const view = await waitForEnd(deps, opened.view, call);
  return isTerminal(view.state) ? { ...opened, kind: 'requested', view } : { kind: 'still_held', view };
}

/**
 * Waits until the call has ended, for as long as is configured, the caller stays and the gateway runs. What is waited for
 * stays open, whoever goes. With too many of the caller's or of all waiting there is no wait.
 */
async function waitForEnd(
  deps: LadderDeps,
  opened: GatedCallView,
  { caller, signal }: Pick<ToolCall, 'caller' | 'signal'>,
): Promise<GatedCallView> {
  const { taskId } = opened;
  const owner = deps.gatedCalls.ownerOf(caller);
  const place = deps.places.take(subjectKey(caller));
  if (place === undefined) return opened;
  const over = new AbortController();
  const end = () => over.abort();
  const letGo = deps.clock.once(deps.settings.waitMs, end);
  onAbort(signal, end);
  onAbort(place.closing, end);
  let last = opened;
  try {
    await watchTasks(deps, { taskIds: [taskId], owner, signal: over.signal, show: async (view) => void (last = view) });
  } finally {
    letGo();
    place.leave();
  }
  if (isTerminal(last.state) || signal.aborted) return last;
  // A notice may have been lost: what is said of the call is how it stands now.
  return (await deps.gatedCalls.readTask(taskId, owner)) ?? last;
}
