import type { AccessRequestOffer } from '../../../../workflows/domain/authzen/evaluation.ts';
import type { JsonObject } from '../../../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../../../workflows/domain/errors.ts';
import type { CallBinding } from '../../../../workflows/domain/gated-call/call-binding.ts';
import type { RequestCatalogs, RequestForms } from '../../../../workflows/domain/ports.ts';
import { additionsOf } from '../../../../workflows/domain/submission-input/answers.ts';
import type { CataloguedForm } from '../../../../workflows/domain/submission-input/catalogs.ts';
import type { Timing } from '../../../shared/limits.ts';
import { randomText } from '../../../shared/random-text.ts';
import { earlierTask, joinTask, openTask, type Requestable, type TaskOpeningDeps } from '../../calls/open-task.ts';
import type { ToolCall, ToolCallAnswer } from '../../calls/tool-call.ts';
import { inputResponse } from '../../wire/schemas.ts';
import { callScope, sealRound, type OpenedRound, type Handles } from '../sealed-state.ts';
import { nextQuestions, questionDigest, withAnswers, type Next, type QuestionDeps } from './next-input.ts';

/** A client that answers badly five times is not asked a sixth time. */
const MAX_ROUNDS = 5;
/** Beside these: a search that finds too much, one that finds something, and the choice. */
const ROUNDS_OF_A_CATALOG = 3;
const KEY_BYTES = 8;
/** Of answers that a client keeps for us from one round to the next. */
const MAX_GIVEN_BYTES = 100_000;

export interface ApprovalRequestDeps extends TaskOpeningDeps, Timing {
  readonly requestForms: RequestForms;
  readonly requestCatalogs: RequestCatalogs;
  readonly handles: Handles;
}

/** A round of questions of ours that came back. */
export type AskedRound = Extract<OpenedRound, { kind: 'question' }>;

/** A call that policy denies and offers to request an approval for. */
export interface RequestableCall {
  readonly binding: CallBinding;
  readonly decision: Requestable;
  /** The round of questions that the call comes back from. */
  readonly asked: AskedRound | undefined;
}

/**
 * Requests an approval: the call becomes a task. Where the request needs more than the call, that is asked for first, and as
 * long as it is not there nothing is opened and nothing is kept. `undefined` when the decision has to be taken again.
 * @see SEP-2848, collecting submission input (APPR-090 to APPR-093)
 */
export async function requestApproval(
  deps: ApprovalRequestDeps,
  call: ToolCall,
  requestable: RequestableCall,
): Promise<ToolCallAnswer | undefined> {
  const { binding, decision, asked } = requestable;
  const { requestSchemaUrl: schemaUrl } = decision.offer;
  if (schemaUrl === undefined) return openTask(deps, call, { binding, decision });
  // Who repeats a call that is open already has answered before.
  const waitedMs = deps.clock.monotonicMs() - call.cameAt;
  const open = asked === undefined ? await deps.gatedCalls.findOpen(binding, waitedMs) : undefined;
  if (open?.kind === 'unread') return earlierTask(deps, binding, open.taskId);
  if (open !== undefined) return joinTask(deps, binding, open);
  const form = await catalogued(deps, decision.offer);
  if (form === undefined) return { kind: 'denied' };
  if (form === 'unusable') return { kind: 'not_requested', why: 'nothing_to_choose' };
  const next = await nextStep(deps, call, { form, asked });
  if (next.kind === 'ask') return ask(deps, call, { binding, form, next, asked });
  if (next.kind === 'unusable') return { kind: 'not_requested', why: 'nothing_to_choose' };
  if (next.kind === 'refused') return { kind: 'not_requested', why: 'not_given' };
  const input = {
    schemaUrl,
    additions: next.additions,
    ...(form.references.size > 0 && { isFromCatalogs: true as const }),
  };
  const redemption = asked !== undefined && { redemption: asked };
  return openTask(deps, call, { binding: { ...binding, input }, decision, ...redemption });
}

/** The form for the schema of an offer, with the catalogs that it names; `undefined` when it cannot be kept to, `unusable` when these cannot. @see ARAP-FRM-05, ARAP-CAT-21 */
async function catalogued(
  { requestForms, requestCatalogs }: Pick<ApprovalRequestDeps, 'requestForms' | 'requestCatalogs'>,
  { requestSchemaUrl: schemaUrl = '', requestCatalogsUrl: catalogsUrl, endpoint }: AccessRequestOffer,
): Promise<CataloguedForm | 'unusable' | undefined> {
  const form = await requestForms.at(schemaUrl);
  if (form === undefined || catalogsUrl === undefined) return form && { form, references: new Map() };
  return (await requestCatalogs.at(catalogsUrl, form, endpoint)) ?? 'unusable';
}

/**
 * What follows from what the requester said: more to ask, or what to submit. Whoever cannot be asked says nothing, where nothing
 * has to be said. An answer counts for the questions that it was given to, and these are put together anew, so that
 * only what a catalog has now can be chosen (ARAP-CAT-13, ARAP-CAT-14).
 */
async function nextStep(
  deps: QuestionDeps,
  call: ToolCall,
  { form, asked }: { form: CataloguedForm; asked: AskedRound | undefined },
): Promise<Next | { kind: 'refused' }> {
  if (asked === undefined || !call.inputResponses.has(asked.key)) {
    const silent = call.acceptsForm ? undefined : additionsOf(form.form, {});
    return silent ? { kind: 'complete', additions: silent } : nextQuestions(deps, form, {});
  }
  const answer = inputResponse.safeParse(call.inputResponses.get(asked.key));
  if (!answer.success) throw new CountersignError('ERR_ARGUMENTS_INVALID', 'an answer to a question has another form');
  if (answer.data.action !== 'accept') return { kind: 'refused' };
  const before = await nextQuestions(deps, form, asked.given ?? {});
  if (before.kind === 'unusable') return before;
  // Where nothing is left to ask, schema or catalogs are others by now: what was typed may be a choice in them.
  const isSame = before.kind === 'ask' && asked.form === questionDigest(form, before.form);
  if (!isSame) return nextQuestions(deps, form, {});
  const given = withAnswers(before.form, before.given, (answer.data.content ?? {}) as JsonObject);
  return given === undefined ? before : nextQuestions(deps, form, given);
}

interface Asking {
  readonly binding: CallBinding;
  readonly form: CataloguedForm;
  readonly next: Extract<Next, { kind: 'ask' }>;
  readonly asked: AskedRound | undefined;
}

async function ask(
  { handles }: Pick<ApprovalRequestDeps, 'handles'>,
  { acceptsForm }: ToolCall,
  { binding, form, next, asked }: Asking,
): Promise<ToolCallAnswer> {
  if (!acceptsForm) return { kind: 'needs_forms' };
  const round = (asked?.round ?? 0) + 1;
  if (round > MAX_ROUNDS + ROUNDS_OF_A_CATALOG * form.references.size)
    return { kind: 'not_requested', why: 'not_given' };
  // Another one each time: no key ever stands for two questions.
  const key = `request-${round}-${randomText(KEY_BYTES)}`;
  const { form: asking, given } = next;
  // What a client could not bring back.
  if (Buffer.byteLength(JSON.stringify(given)) > MAX_GIVEN_BYTES) return { kind: 'not_requested', why: 'not_given' };
  const about = { key, form: questionDigest(form, asking), round, given };
  const requestState = await sealRound(handles, callScope(binding), { kind: 'question', ...about });
  return { kind: 'input_required', key, form: asking, requestState };
}
