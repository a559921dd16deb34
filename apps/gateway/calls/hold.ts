import type { Logger } from 'pino';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { CallBinding } from '../../../workflows/domain/gated-call/call-binding.ts';
import { isTerminal } from '../../../workflows/domain/gated-call/gated-call.ts';
import { newSubmission, type SubmissionSettings } from '../../../workflows/domain/gated-call/submission.ts';
import type { EnsureSubmitted, GatedCalls, Opened, Opening, ToSubmit } from '../../../workflows/domain/ports.ts';
import { type Principal, subjectKey } from '../../../workflows/domain/principal.ts';
import { recordedPreview } from '../../../workflows/domain/tools/preview.ts';
import type { Config } from '../../shared/config/config.ts';
import type { RateLimit } from '../../shared/http/address-limit.ts';
import { logScope } from '../../shared/log-scope.ts';
import { randomText } from '../../shared/crypto.ts';
import { leaveAdmission } from './admission.ts';
import type { Previews } from '../extensions/previews.ts';
import type { OpenedPage } from '../extensions/sealed-state.ts';
import {
  type Held,
  type OnHold,
  type PageRounds,
  refused,
  type RequestableCall,
  type RequestInput,
  type ToolCall,
  type ToolCallAnswer,
} from './tool-call.ts';
import { waitForEnd, type WaitDeps } from './wait.ts';

export interface HoldingDeps extends WaitDeps {
  readonly gatedCalls: Pick<GatedCalls, 'open' | 'findOpen' | 'findTask'> & WaitDeps['gatedCalls'];
  readonly ensureSubmitted: EnsureSubmitted;
  readonly requestInput: RequestInput;
  readonly pageRounds: PageRounds;
  readonly previews: Previews;
  /** Of access requests, for each subject. */
  readonly submissions: RateLimit;
  readonly settings: SubmissionSettings;
  readonly log: Logger;
}

/** The operator's settings for clients without tasks. */
export type HoldSettings = Pick<Config['gateway'], 'requestByItself' | 'demandTasks'>;

/** Clients of earlier revisions cannot declare tasks, so the gateway does not demand tasks of them. */
export function onHoldFor(
  { isModern, declaresTasks, tool }: { isModern: boolean; declaresTasks: boolean; tool: string },
  { requestByItself, demandTasks }: HoldSettings,
): OnHold {
  if (isModern && declaresTasks) return 'task';
  const isDemanded = typeof demandTasks === 'boolean' ? demandTasks : demandTasks.includes(tool);
  if (isModern && isDemanded) return 'error';
  return requestByItself ? 'wait' : 'words';
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
  leaveAdmission();
  if (opened?.kind !== 'held') return opened;
  const { approvalPage } = opened.view;
  if (onHold === 'wait' && call.acceptsPage && approvalPage !== undefined)
    return { kind: 'asks', round: await deps.pageRounds.ask(denied.binding, opened.view, approvalPage) };
  return afterWait(deps, call, opened);
}

/**
 * The end of a held call, for a client that was asked to open its page. What the client answers is not read, because many hosts answer in a
 * person's place: only the page decides. Nothing is opened, and no tool runs by it.
 */
export async function followPage(deps: WaitDeps, call: ToolCall, { taskId }: OpenedPage): Promise<ToolCallAnswer> {
  const { findTask, ownerOf } = deps.gatedCalls;
  const view = await findTask(taskId, ownerOf(call.caller));
  if (view === undefined) throw new CountersignError('ERR_REQUEST_STATE_INVALID', 'the held call is no longer kept');
  return afterWait(deps, call, { kind: 'held', as: 'task', view });
}

/** A held call as its client gets it: at once as a task or by its reference, else after a wait for its end. */
async function afterWait(deps: WaitDeps, call: ToolCall, held: Held): Promise<Held> {
  const { onHold, wait = NO_WAIT, heldIsError: isError = true } = call;
  if (onHold === 'task') return held;
  if (onHold === 'reference') return { ...held, as: 'reference', nextSeconds: wait.nextSeconds };
  const { view, nextSeconds } = await waitForEnd(deps, held.view, { ...wait, ...call });
  return isTerminal(view.state)
    ? { ...held, as: 'reference', view }
    : { ...held, as: 'waited', view, nextSeconds, isError };
}

const NO_WAIT = { seconds: 0, nextSeconds: 0 };

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
  // A repeated open call needs no new input, and no new preview.
  const isRepeatable = asked === undefined && (schemaUrl !== undefined || deps.previews.has(binding.tool));
  const open = isRepeatable ? await deps.gatedCalls.findOpen(binding, cameOf(call)) : undefined;
  if (open?.kind === 'unread') return heldTask(deps, binding, open.taskId, { isEarlier: true });
  if (open !== undefined) return joinTask(deps, binding, open);
  if (schemaUrl === undefined) return openTask(deps, call, { binding, decision });
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
  call: Pick<ToolCall, 'signal' | 'onHold' | 'acceptsForm' | 'cameAt'>,
  { binding, decision, redemption }: Pick<Opening, 'binding' | 'decision' | 'redemption'>,
): Promise<ToolCallAnswer | undefined> {
  const { signal, onHold, acceptsForm } = call;
  const { evaluation, caller, input } = binding;
  // A caller without a task cannot be asked within it.
  const takesInput = onHold === 'task' && acceptsForm;
  const { trace } = logScope();
  const opened = await withinLimit(deps, caller, async () => {
    // The bytes of a submission never change, so its preview comes first.
    const preview = await deps.previews.take(binding, signal);
    const facts = { evaluation, caller, denial: decision, generation: 1, additions: input?.additions, preview };
    const submission = newSubmission(facts, deps.settings, randomText);
    const recorded = preview && { preview: recordedPreview(preview) };
    const opening = { binding, decision, submission, takesInput, trace, ...cameOf(call), ...recorded };
    return deps.gatedCalls.open({ ...opening, ...(redemption && { redemption }) }, signal);
  });
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

/**
 * When the call came, and whether an outcome that its caller was not told of answers it. A client with tasks reads outcomes in its tasks:
 * after the end of one, an identical call is a new call with a task of its own. @see SEP-2848, Identical calls
 */
const cameOf = ({ cameAt, onHold }: Pick<ToolCall, 'cameAt' | 'onHold'>) => ({
  cameAt,
  takesUnread: onHold !== 'task',
});

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
  opened: { readonly kind: Opened['kind']; readonly taskId: string } & ToSubmit,
): Promise<ToolCallAnswer | undefined> {
  try {
    const view = await deps.ensureSubmitted(opened);
    const held = view ? ({ kind: 'held', as: 'task', view } as const) : await heldTask(deps, binding, opened.taskId);
    return held && opened.kind === 'joined' ? { ...held, isJoined: true } : held;
  } catch (error) {
    if (!(error instanceof CountersignError)) throw error;
    if (error.code === 'ERR_NOT_REQUESTABLE') return refused({ reason: 'denied' });
    if (error.code === 'ERR_DENIAL_EXPIRED') return undefined;
    throw error;
  }
}

/** Counts only a call that opened a request, not one that joined an open request. @see APPR-196 */
async function withinLimit(
  { submissions }: Pick<HoldingDeps, 'submissions'>,
  caller: Principal,
  open: () => Promise<Opened>,
): Promise<Opened> {
  const subject = subjectKey(caller);
  if ((await submissions.take(subject)) !== undefined) return { kind: 'too_many' };
  const opened = await open();
  if (opened.kind !== 'opened') await submissions.giveBack(subject);
  return opened;
}
