import type { AccessRequestOffer } from '../../../../workflows/domain/authzen/evaluation.ts';
import type { JsonObject } from '../../../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../../../workflows/domain/errors.ts';
import type { CallBinding } from '../../../../workflows/domain/gated-call/call-binding.ts';
import type { RequestCatalogs, RequestForms } from '../../../../workflows/domain/ports.ts';
import { additionsOf } from '../../../../workflows/domain/submission-input/answers.ts';
import type { CataloguedForm } from '../../../../workflows/domain/submission-input/catalogs.ts';
import type { Timing } from '../../../shared/limits.ts';
import { randomText } from '../../../shared/random-text.ts';
import type { RequestableCall, RequestInput } from '../../calls/extension-ports.ts';
import { refused, type ToolCall, type ToolCallAnswer } from '../../calls/tool-call.ts';
import { inputResponse } from '../../wire/schemas.ts';
import { callScope, sealRound, type SealedStates } from '../sealed-state.ts';
import { inputDigest, nextInput, withAnswers, type Next, type NextInputDeps } from './next-input.ts';

/** A client that answers badly five times is not asked a sixth time. */
const MAX_ROUNDS = 5;
/** Beside these: a search that finds too much, one that finds something, and the choice. */
const ROUNDS_OF_A_CATALOG = 3;
const KEY_BYTES = 8;
/** Of answers that a client keeps for us from one round to the next. */
const MAX_GIVEN_BYTES = 100_000;

export interface RequestInputDeps extends Timing {
  readonly requestForms: RequestForms;
  readonly requestCatalogs: RequestCatalogs;
  readonly sealedStates: SealedStates;
}

/** The input that an access request needs, by the form that its denial names. @see SEP-2848 (APPR-090 to APPR-093) */
export function createRequestInput(deps: RequestInputDeps): RequestInput {
  return {
    async collect(call, { binding, decision, asked, schemaUrl }) {
      const form = await catalogued(deps, decision.offer);
      if (form === undefined) return refused({ reason: 'denied' });
      if (form === 'unusable') return refused({ reason: 'not_requested', why: 'nothing_to_choose' });
      const next = await nextStep(deps, call, { form, asked });
      if (next.kind === 'ask') return ask(deps, call, { binding, form, next, asked });
      if (next.kind === 'unusable') return refused({ reason: 'not_requested', why: 'nothing_to_choose' });
      if (next.kind === 'refused') return refused({ reason: 'not_requested', why: 'not_given' });
      const isFromCatalogs = form.references.size > 0 && { isFromCatalogs: true as const };
      return { kind: 'complete', input: { schemaUrl, additions: next.additions, ...isFromCatalogs } };
    },
  };
}

/** The form for the schema of an offer, with the catalogs that it names; `undefined` when it cannot be kept to, `unusable` when these cannot. @see ARAP-FRM-05, ARAP-CAT-21 */
async function catalogued(
  { requestForms, requestCatalogs }: Pick<RequestInputDeps, 'requestForms' | 'requestCatalogs'>,
  { requestSchemaUrl: schemaUrl = '', requestCatalogsUrl: catalogsUrl, endpoint }: AccessRequestOffer,
): Promise<CataloguedForm | 'unusable' | undefined> {
  const form = await requestForms.at(schemaUrl);
  if (form === undefined || catalogsUrl === undefined) return form && { form, references: new Map() };
  return (await requestCatalogs.at(catalogsUrl, form, endpoint)) ?? 'unusable';
}

/**
 * What follows from what the requester said: more to ask, or what to submit. A client that cannot be asked gives no input,
 * where none is required. An answer counts for the form that it was given to. That form is made anew, so that only what a
 * catalog has now can be chosen (ARAP-CAT-13, ARAP-CAT-14).
 */
async function nextStep(
  deps: NextInputDeps,
  call: ToolCall,
  { form, asked }: { form: CataloguedForm; asked: RequestableCall['asked'] },
): Promise<Next | { kind: 'refused' }> {
  if (asked === undefined || !call.inputResponses.has(asked.key)) {
    const silent = call.acceptsForm ? undefined : additionsOf(form.form, {});
    return silent ? { kind: 'complete', additions: silent } : nextInput(deps, form, {});
  }
  const answer = inputResponse.safeParse(call.inputResponses.get(asked.key));
  if (!answer.success) throw new CountersignError('ERR_ARGUMENTS_INVALID', 'an answer to a question has another form');
  if (answer.data.action !== 'accept') return { kind: 'refused' };
  const before = await nextInput(deps, form, asked.given ?? {});
  if (before.kind === 'unusable') return before;
  // Where nothing is left to ask, schema or catalogs are others by now: what was typed may be a choice in them.
  const isSame = before.kind === 'ask' && asked.form === inputDigest(form, before.form);
  if (!isSame) return nextInput(deps, form, {});
  const given = withAnswers(before.form, before.given, (answer.data.content ?? {}) as JsonObject);
  return given === undefined ? before : nextInput(deps, form, given);
}

interface Asking {
  readonly binding: CallBinding;
  readonly form: CataloguedForm;
  readonly next: Extract<Next, { kind: 'ask' }>;
  readonly asked: RequestableCall['asked'];
}

async function ask(
  { sealedStates }: Pick<RequestInputDeps, 'sealedStates'>,
  { acceptsForm }: ToolCall,
  { binding, form, next, asked }: Asking,
): Promise<ToolCallAnswer> {
  if (!acceptsForm) return refused({ reason: 'needs_forms' });
  const round = (asked?.round ?? 0) + 1;
  if (round > MAX_ROUNDS + ROUNDS_OF_A_CATALOG * form.references.size)
    return refused({ reason: 'not_requested', why: 'not_given' });
  // Another key each time, so that no key stands for two forms.
  const key = `request-${round}-${randomText(KEY_BYTES)}`;
  const { form: asking, given } = next;
  // A client could not bring more back.
  if (Buffer.byteLength(JSON.stringify(given)) > MAX_GIVEN_BYTES)
    return refused({ reason: 'not_requested', why: 'not_given' });
  const about = { key, form: inputDigest(form, asking), round, given };
  const requestState = await sealRound(sealedStates, callScope(binding), { kind: 'form', ...about });
  return { kind: 'asks', round: { kind: 'form', key, form: asking, requestState } };
}
