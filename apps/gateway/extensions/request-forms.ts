import type { AccessRequestOffer } from '../../../workflows/domain/authzen/evaluation.ts';
import { canonicalJson, type Json, type JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { CallBinding } from '../../../workflows/domain/gated-call/call-binding.ts';
import type { RequestCatalogs, RequestForms } from '../../../workflows/domain/ports.ts';
import { additionsOf, answerTo, fits, type Additions } from '../../../workflows/domain/submission-input/answers.ts';
import type { CataloguedForm, CatalogReference } from '../../../workflows/domain/submission-input/catalogs.ts';
import type { Timing } from '../../shared/limits.ts';
import { randomText, sha256 } from '../../shared/crypto.ts';
import {
  refused,
  type RequestableCall,
  type RequestInput,
  type ToolCall,
  type ToolCallAnswer,
} from '../calls/tool-call.ts';
import { inputResponse } from '../wire/schemas.ts';
import { callScope, sealRound, type SealedStates } from './sealed-state.ts';
import type { FieldSchema } from '../../../workflows/domain/submission-input/form-field.ts';
import type { FormField, RequestForm } from '../../../workflows/domain/submission-input/request-form.ts';

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
  if (!answer.success) throw new CountersignError('ERR_ARGUMENTS_INVALID', 'an answer to a form has another shape');
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

/**
 * What was said so far, by the name of the field: null where nothing was, and where nothing could be. Beside it stand the texts that
 * catalogs are to be searched for.
 */
export type Given = JsonObject;

/** What is to be asked next, or all that there is to say. `unusable`: what is needed cannot be chosen, so nothing is submitted. */
export type Next =
  | { readonly kind: 'ask'; readonly form: RequestForm; readonly given: Given }
  | { readonly kind: 'complete'; readonly additions: Additions }
  | { readonly kind: 'unusable' };

type Catalogs = Pick<RequestCatalogs, 'look'>;
type NextInputDeps = Timing & { readonly requestCatalogs: Catalogs };

/** Names of fields of the schema begin with a letter, so none is such a one. */
const SEARCH = '_search_';
const searchName = (name: string) => `${SEARCH}${name}`;
const MAX_SEARCH = 100;

/**
 * Asks for everything that can be asked for by now. A field with a catalog waits for those that narrow it down (ARAP-CAT-04), and is
 * a choice among what its catalog has for them; of one that has too much, a search is asked for first (ARAP-CAT-15). Throws what `look` does.
 */
export async function nextInput(
  { requestCatalogs, clock, limits }: NextInputDeps,
  of: CataloguedForm,
  given: Given,
): Promise<Next> {
  const said: Record<string, Json> = { ...given };
  const fields: FormField[] = [];
  const end = clock.monotonicMs() + limits.catalogsOfRoundMs;
  for (const field of inOrder(of)) {
    if (clock.monotonicMs() > end) {
      throw new CountersignError('ERR_ACCESS_REQUEST_SERVICE_UNAVAILABLE', 'the catalogs of a request take too long');
    }
    if (Object.hasOwn(said, field.name)) continue;
    const asked = await askFor(requestCatalogs, { field, reference: of.references.get(field.name) }, said);
    if (asked === 'unusable') return { kind: 'unusable' };
    if (asked === 'nothing') said[field.name] = null;
    else if (asked !== 'later') fields.push(asked);
  }
  const { form } = of;
  if (fields.length > 0) return { kind: 'ask', form: { ...form, fields }, given: said };
  const additions = additionsOf(form, said);
  return additions === undefined ? { kind: 'unusable' } : { kind: 'complete', additions };
}

/** What was said, with the answers to this form; `undefined` when they do not fit it. */
export function withAnswers(asked: RequestForm, given: Given, content: JsonObject): Given | undefined {
  const answers = answerTo(asked, content);
  if (answers === undefined) return undefined;
  const said: Record<string, Json> = { ...given };
  for (const { name } of asked.fields) {
    const value = answers[name] ?? null;
    // An empty search means no value.
    if (value === null && name.startsWith(SEARCH)) said[name.slice(SEARCH.length)] = null;
    else said[name] = value;
  }
  return said;
}

/** Names what is asked and for what, so that an answer to another form does not count. The address of a catalog differs each time. */
export function inputDigest({ form, references }: CataloguedForm, asked: RequestForm): string {
  const catalogs = [...references].map(([name, { endpoint: _endpoint, ...reference }]) => [name, reference]);
  return sha256(canonicalJson([form, asked, catalogs] as unknown as Json));
}

/** Fields that narrow a catalog down come before the one that has it. */
function inOrder({ form, references }: CataloguedForm): FormField[] {
  const placed = new Set<FormField>();
  const place = (field: FormField): void => {
    const sources = (references.get(field.name)?.scope ?? []).map(([, source]) => source);
    for (const one of form.fields) if (sources.includes(one.name) && !placed.has(one)) place(one);
    placed.add(field);
  };
  for (const field of form.fields) if (!placed.has(field)) place(field);
  return [...placed];
}

/** `later`: what it depends on is not known yet. `nothing`: there is nothing to choose, and nothing has to be said. */
async function askFor(
  catalogs: Catalogs,
  { field, reference }: { field: FormField; reference: CatalogReference | undefined },
  said: Record<string, Json>,
): Promise<FormField | 'later' | 'nothing' | 'unusable'> {
  if (reference === undefined) return field;
  const none = field.isRequired ? 'unusable' : 'nothing';
  const sources = reference.scope.map(([, source]) => said[source]);
  if (sources.includes(undefined)) return 'later';
  if (sources.includes(null)) return none;
  const scope = new Map(reference.scope.map(([parameter, source]) => [parameter, asText(said[source])]));
  const looked = said[searchName(field.name)];
  const search = typeof looked === 'string' ? looked : undefined;
  const found = await catalogs.look(reference, { search, scope });
  if (found === undefined) return 'unusable';
  if (found === 'too_many') return searchFor(field, search === undefined ? '' : 'The search found too many values. ');
  const options = found.filter((option) => fits(field.schema, option.const));
  if (options.length > 0) return { ...field, schema: { ...texts(field), type: 'string', oneOf: options } };
  return search === undefined ? none : searchFor(field, 'The search found nothing. ');
}

/** Fields that narrow a catalog down have one value each. */
const asText = (value: Json | undefined): string => (typeof value === 'string' ? value : JSON.stringify(value));

const texts = ({ schema: { title, description } }: FormField) => ({
  ...(title !== undefined && { title }),
  ...(description !== undefined && { description }),
});

/** What is typed into it is looked for, and never submitted. */
function searchFor(field: FormField, before: string): FormField {
  const schema: FieldSchema = {
    type: 'string',
    title: `${field.schema.title ?? field.name}: search`,
    description: `${before}Type a part of the name. Next, choose from the values that are found.`,
    minLength: 1,
    maxLength: MAX_SEARCH,
  };
  return { ...field, name: searchName(field.name), path: [searchName(field.name)], schema };
}
