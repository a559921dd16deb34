import type { Logger } from 'pino';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { Decision } from '../../../workflows/domain/authzen/evaluation.ts';
import type { CallBinding } from '../../../workflows/domain/gated-call/call-binding.ts';
import { newSubmission, type SubmissionSettings } from '../../../workflows/domain/gated-call/new-submission.ts';
import type { EnsureSubmitted, GatedCalls, Opened, Opening, ToSubmit } from '../../../workflows/domain/ports.ts';
import { subjectKey } from '../../../workflows/domain/principal.ts';
import type { Clock } from '../../shared/clock.ts';
import { randomText } from '../../shared/random-text.ts';
import type { RateLimit } from '../../shared/http/rate-limit.ts';
import { logScope } from '../../shared/log-scope.ts';
import type { ToolCall, ToolCallAnswer } from './tool-call.ts';

export interface TaskOpeningDeps {
  readonly clock: Clock;
  readonly gatedCalls: Pick<GatedCalls, 'open' | 'findOpen' | 'findTask' | 'ownerOf'>;
  readonly ensureSubmitted: EnsureSubmitted;
  /** Of access requests, for each subject. */
  readonly submissions: RateLimit;
  readonly settings: SubmissionSettings;
  readonly log: Logger;
}

export type Requestable = Extract<Decision, { kind: 'requestable' }>;

/**
 * Opens the gated call, or joins the open one for the same call, and hands its task out only when the access request
 * service has given its handle. Nothing is opened for a caller that has gone. One that goes later changes nothing: what is
 * opened is submitted, and a repeated call finds the same task.
 */
export async function openTask(
  deps: TaskOpeningDeps,
  { signal, rung, acceptsForm, cameAt }: Pick<ToolCall, 'signal' | 'rung' | 'acceptsForm' | 'cameAt'>,
  { binding, decision, redemption }: Pick<Opening, 'binding' | 'decision' | 'redemption'>,
): Promise<ToolCallAnswer | undefined> {
  const { evaluation, caller, input } = binding;
  const facts = { evaluation, caller, denial: decision, generation: 1, additions: input?.additions };
  const submission = newSubmission(facts, deps.settings, randomText);
  // Who has no task could not be asked within it.
  const takesInput = rung === 'task' && acceptsForm;
  const { trace } = logScope();
  const waitedMs = deps.clock.monotonicMs() - cameAt;
  const opening = { binding, decision, submission, takesInput, trace, waitedMs, ...(redemption && { redemption }) };
  const opened = await openWithinLimit(deps, opening, signal);
  if (opened.kind === 'gone') return undefined;
  if (opened.kind === 'too_many') return { kind: 'too_many' };
  if (opened.kind === 'unwanted') return { kind: 'not_sent', cause: 'the caller has gone' };
  if (opened.kind === 'late') throw new CountersignError('ERR_REQUEST_STATE_INVALID', 'the answers came too late');
  if (opened.kind === 'redeemed') {
    // The same answers again: the same task, also where it has ended.
    const view = await deps.gatedCalls.findTask(opened.taskId, deps.gatedCalls.ownerOf(caller));
    if (view !== undefined) return { kind: 'task', view };
  }
  if (opened.kind === 'unread') return earlierTask(deps, binding, opened.taskId);
  return joinTask(deps, binding, opened);
}

/** An identical call that was carried out before, for its caller, who was not told yet how it ended. */
export async function earlierTask(
  { gatedCalls }: Pick<TaskOpeningDeps, 'gatedCalls'>,
  { caller }: Pick<CallBinding, 'caller'>,
  taskId: string,
): Promise<ToolCallAnswer | undefined> {
  const view = await gatedCalls.findTask(taskId, gatedCalls.ownerOf(caller));
  return view && { kind: 'task', view, isEarlier: true };
}

/** Hands the task of an open call out as soon as the access request service has given its handle. */
export async function joinTask(
  { ensureSubmitted, gatedCalls }: Pick<TaskOpeningDeps, 'ensureSubmitted' | 'gatedCalls'>,
  { caller }: Pick<CallBinding, 'caller'>,
  opened: { readonly taskId: string } & ToSubmit,
): Promise<ToolCallAnswer | undefined> {
  try {
    const view =
      (await ensureSubmitted(opened)) ?? (await gatedCalls.findTask(opened.taskId, gatedCalls.ownerOf(caller)));
    return view && { kind: 'task', view };
  } catch (error) {
    if (!(error instanceof CountersignError)) throw error;
    if (error.code === 'ERR_NOT_REQUESTABLE') return { kind: 'denied' };
    if (error.code === 'ERR_DENIAL_EXPIRED') return undefined;
    throw error;
  }
}

/** A call that opened nothing, because it joined another, say, is not counted. @see APPR-196 */
async function openWithinLimit(
  { gatedCalls, submissions }: Pick<TaskOpeningDeps, 'gatedCalls' | 'submissions'>,
  opening: Opening,
  signal: AbortSignal,
): Promise<Opened> {
  const subject = subjectKey(opening.binding.caller);
  if ((await submissions.take(subject)) !== undefined) return { kind: 'too_many' };
  const opened = await gatedCalls.open(opening, signal);
  if (opened.kind !== 'opened') await submissions.giveBack(subject);
  return opened;
}
