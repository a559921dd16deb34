import type { Logger } from 'pino';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { CallBinding } from '../../../workflows/domain/gated-call/call-binding.ts';
import { isTerminal } from '../../../workflows/domain/gated-call/gated-call.ts';
import { newSubmission, type SubmissionSettings } from '../../../workflows/domain/gated-call/submission.ts';
import type {
  EnsureSubmitted,
  GatedCalls,
  GatedCallView,
  Opened,
  Opening,
  ToSubmit,
} from '../../../workflows/domain/ports.ts';
import { subjectKey } from '../../../workflows/domain/principal.ts';
import { timeLimit } from '../../shared/clock.ts';
import type { Config } from '../../shared/config/config.ts';
import type { RateLimit } from '../../shared/http/address-limit.ts';
import { logScope } from '../../shared/log-scope.ts';
import { randomText } from '../../shared/crypto.ts';
import { watchTasks, type TaskWatchDeps } from '../tasks/watch.ts';
import type { ConcurrencyLimit } from './concurrency-limit.ts';
import {
  type Held,
  type OnHold,
  refused,
  type RequestableCall,
  type RequestInput,
  type ToolCall,
  type ToolCallAnswer,
} from './tool-call.ts';

export interface HoldingDeps extends TaskWatchDeps {
  readonly gatedCalls: Pick<GatedCalls, 'open' | 'findOpen' | 'findTask' | 'ownerOf'> & TaskWatchDeps['gatedCalls'];
  readonly ensureSubmitted: EnsureSubmitted;
  readonly requestInput: RequestInput;
  /** Of access requests, for each subject. */
  readonly submissions: RateLimit;
  /** Of calls that wait, and of streams. */
  readonly concurrency: ConcurrencyLimit;
  readonly settings: SubmissionSettings & {
    /** How long a call of a client without tasks waits for its end. */
    readonly waitMs: number;
  };
  readonly log: Logger;
}

/** The operator's settings for clients without tasks. */
export type HoldSettings = Pick<Config['gateway'], 'waitSeconds' | 'demandTasks'>;

/** Clients of earlier revisions cannot declare tasks, so the gateway does not demand tasks of them. */
export function onHoldFor(
  { isModern, declaresTasks, tool }: { isModern: boolean; declaresTasks: boolean; tool: string },
  { waitSeconds, demandTasks }: HoldSettings,
): OnHold {
  if (isModern && declaresTasks) return 'task';
  const isDemanded = typeof demandTasks === 'boolean' ? demandTasks : demandTasks.includes(tool);
  if (isModern && isDemanded) return 'error';
  return waitSeconds > 0 ? 'wait' : 'words';
}

/** Puts a call that needs an approval on hold, in the form that its client supports. `undefined`: the decision has to be taken again. */
export async function hold(
  deps: HoldingDeps,
  call: ToolCall,
  denied: RequestableCall,
): Promise<ToolCallAnswer | undefined> {
  const { onHold } = call;
  if (onHold === 'words') return refused({ reason: 'needs_tasks' });
  if (onHold === 'error') return refused({ reason: 'demands_tasks' });
  const opened = await requestApproval(deps, call, denied);
  if (opened?.kind !== 'held' || onHold === 'task') return opened;
  if (onHold === 'reference') return { ...opened, as: 'reference' };
  const view = await waitForEnd(deps, opened.view, call);
  return isTerminal(view.state) ? { ...opened, as: 'reference', view } : { kind: 'held', as: 'waited', view };
}

/**
 * Waits until the call has ended, the configured time is over, the caller leaves or the gateway stops. The call stays open. Above the
 * limit on waiting calls it does not wait.
 */
async function waitForEnd(
  deps: HoldingDeps,
  opened: GatedCallView,
  { caller, signal }: Pick<ToolCall, 'caller' | 'signal'>,
): Promise<GatedCallView> {
  const { taskId } = opened;
  const owner = deps.gatedCalls.ownerOf(caller);
  const slot = deps.concurrency.acquire(subjectKey(caller));
  if (slot === undefined) return opened;
  const over = timeLimit(deps.clock, deps.settings.waitMs, signal, slot.closing);
  let last = opened;
  try {
    await watchTasks(deps, { taskIds: [taskId], owner, signal: over.signal, show: async (view) => void (last = view) });
  } finally {
    over.end();
    slot.release();
  }
  if (isTerminal(last.state) || signal.aborted) return last;
  // A notice may have been lost, so the call is read once more.
  return (await deps.gatedCalls.readTask(taskId, owner)) ?? last;
}

/**
 * Requests an approval, so that the call becomes a task. If the request needs input, the client is asked first, and nothing is opened
 * before it has answered. `undefined`: the decision has to be taken again.
 */
async function requestApproval(
  deps: HoldingDeps,
  call: ToolCall,
  requestable: RequestableCall,
): Promise<ToolCallAnswer | undefined> {
  const { binding, decision, asked } = requestable;
  const { requestSchemaUrl: schemaUrl } = decision.offer;
  if (schemaUrl === undefined) return openTask(deps, call, { binding, decision });
  // A repeated open call needs no new input.
  const waitedMs = deps.clock.monotonicMs() - call.cameAt;
  const open = asked === undefined ? await deps.gatedCalls.findOpen(binding, waitedMs) : undefined;
  if (open?.kind === 'unread') return heldTask(deps, binding, open.taskId, { isEarlier: true });
  if (open !== undefined) return joinTask(deps, binding, open);
  const collected = await deps.requestInput.collect(call, { ...requestable, schemaUrl });
  if (collected.kind !== 'complete') return collected;
  const redemption = asked !== undefined && { redemption: asked };
  return openTask(deps, call, { binding: { ...binding, input: collected.input }, decision, ...redemption });
}

/**
 * Opens the gated call, or joins the open one for the same call. Returns its task once the access request service has given its handle.
 * Nothing is opened for a caller that has gone. If the caller leaves later, the opened call is still submitted, and a repeated call finds
 * the same task.
 */
async function openTask(
  deps: HoldingDeps,
  { signal, onHold, acceptsForm, cameAt }: Pick<ToolCall, 'signal' | 'onHold' | 'acceptsForm' | 'cameAt'>,
  { binding, decision, redemption }: Pick<Opening, 'binding' | 'decision' | 'redemption'>,
): Promise<ToolCallAnswer | undefined> {
  const { evaluation, caller, input } = binding;
  const facts = { evaluation, caller, denial: decision, generation: 1, additions: input?.additions };
  const submission = newSubmission(facts, deps.settings, randomText);
  // A caller without a task cannot be asked within it.
  const takesInput = onHold === 'task' && acceptsForm;
  const { trace } = logScope();
  const waitedMs = deps.clock.monotonicMs() - cameAt;
  const opening = { binding, decision, submission, takesInput, trace, waitedMs, ...(redemption && { redemption }) };
  const opened = await openWithinLimit(deps, opening, signal);
  if (opened.kind === 'gone') return undefined;
  if (opened.kind === 'too_many') return refused({ reason: 'too_many' });
  if (opened.kind === 'unwanted') return { kind: 'ran', outcome: { kind: 'not_sent', cause: 'the caller has gone' } };
  if (opened.kind === 'late') throw new CountersignError('ERR_REQUEST_STATE_INVALID', 'the answers came too late');
  // The same answers get the same task, even if it has ended.
  const redeemed = opened.kind === 'redeemed' ? await heldTask(deps, binding, opened.taskId) : undefined;
  if (redeemed !== undefined) return redeemed;
  if (opened.kind === 'unread') return heldTask(deps, binding, opened.taskId, { isEarlier: true });
  return joinTask(deps, binding, opened);
}

async function heldTask(
  { gatedCalls }: Pick<HoldingDeps, 'gatedCalls'>,
  { caller }: Pick<CallBinding, 'caller'>,
  taskId: string,
  more?: Pick<Held, 'isEarlier'>,
): Promise<Held | undefined> {
  const view = await gatedCalls.findTask(taskId, gatedCalls.ownerOf(caller));
  return view && { kind: 'held', as: 'task', view, ...more };
}

/** The task of an open call, once the access request service has given its handle. */
async function joinTask(
  deps: Pick<HoldingDeps, 'ensureSubmitted' | 'gatedCalls'>,
  binding: Pick<CallBinding, 'caller'>,
  opened: { readonly taskId: string } & ToSubmit,
): Promise<ToolCallAnswer | undefined> {
  try {
    const view = await deps.ensureSubmitted(opened);
    return view ? { kind: 'held', as: 'task', view } : await heldTask(deps, binding, opened.taskId);
  } catch (error) {
    if (!(error instanceof CountersignError)) throw error;
    if (error.code === 'ERR_NOT_REQUESTABLE') return refused({ reason: 'denied' });
    if (error.code === 'ERR_DENIAL_EXPIRED') return undefined;
    throw error;
  }
}

/** Counts only a call that opened a request, not one that joined an open request. @see APPR-196 */
async function openWithinLimit(
  { gatedCalls, submissions }: Pick<HoldingDeps, 'gatedCalls' | 'submissions'>,
  opening: Opening,
  signal: AbortSignal,
): Promise<Opened> {
  const subject = subjectKey(opening.binding.caller);
  if ((await submissions.take(subject)) !== undefined) return { kind: 'too_many' };
  const opened = await gatedCalls.open(opening, signal);
  if (opened.kind !== 'opened') await submissions.giveBack(subject);
  return opened;
}
