import type { AccessRequestOffer } from '../../../workflows/domain/authzen/evaluation.ts';
import { canonicalJson, type Json, type JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
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

/** After five unusable answers, a client is not asked again. */
const MAX_ROUNDS = 5;
/** Added for each catalog: a search that finds too much, one that finds something, and the choice. */
const ROUNDS_OF_A_CATALOG = 3;
const KEY_BYTES = 8;
const NOT_GIVEN = refused({ reason: 'not_requested', why: 'not_given' });
const NOTHING_TO_CHOOSE = refused({ reason: 'not_requested', why: 'nothing_to_choose' });
/** Answers that a client keeps for the gateway between rounds. */
const MAX_GIVEN_BYTES = 100_000;

export interface RequestInputDeps extends Timing {
  readonly requestForms: RequestForms;
  readonly requestCatalogs: RequestCatalogs;
  readonly sealedStates: SealedStates;
}

/** Collects the input of an access request with the form that its denial names. @see SEP-2848 (APPR-090 to APPR-093) */
export function createRequestInput(deps: RequestInputDeps): RequestInput {
  return {
    async collect(call, { binding, decision, asked, schemaUrl }) {
      const form = await catalogued(deps, decision.offer);
      if (form === undefined) return refused({ reason: 'denied' });
      if (form === 'unusable') return NOTHING_TO_CHOOSE;
      const next = await nextStep(deps, call, { form, asked });
      if (next.kind === 'ask') return ask(deps, call, { binding, form, next, asked });
      if (next.kind === 'unusable') return NOTHING_TO_CHOOSE;
      if (next.kind === 'refused') return NOT_GIVEN;
      const isFromCatalogs = form.references.size > 0 && { isFromCatalogs: true as const };
      return { kind: 'complete', input: { schemaUrl, additions: next.additions, ...isFromCatalogs } };
    },
  };
}

/** The form of an offer, with its catalogs. `undefined`: the form cannot be used. `unusable`: a catalog cannot. @see ARAP-FRM-05, ARAP-CAT-21 */
async function catalogued(
  { requestForms, requestCatalogs }: Pick<RequestInputDeps, 'requestForms' | 'requestCatalogs'>,
  { requestSchemaUrl: schemaUrl = '', requestCatalogsUrl: catalogsUrl, endpoint }: AccessRequestOffer,
): Promise<CataloguedForm | 'unusable' | undefined> {
  const form = await requestForms.at(schemaUrl);
  if (form === undefined || catalogsUrl === undefined) return form && { form, references: new Map() };
  return (await requestCatalogs.at(catalogsUrl, form, endpoint)) ?? 'unusable';
}

/**
 * The next question, or the complete input. For a client that cannot show forms, the input is empty if none is required. An answer counts
 * only for the form that it was given to. That form is rebuilt, so that only current values of a catalog can be chosen (ARAP-CAT-13,
 * ARAP-CAT-14).
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
  if (!answer.success) throw new CountersignError('ERR_ARGUMENTS_INVALID', 'an answer to a form has the wrong shape');
  if (answer.data.action !== 'accept') return { kind: 'refused' };
  const before = await nextInput(deps, form, asked.given ?? {});
  if (before.kind === 'unusable') return before;
  // If nothing is left to ask, schema or catalogs have changed: the typed text may now be a value to choose.
  const isSame = before.kind === 'ask' && asked.form === inputDigest(form, before.form);
  if (!isSame) return nextInput(deps, form, {});
  const given = withAnswers(before.form, before.given, (answer.data.content ?? {}) as JsonObject);
  return given === undefined ? before : nextInput(deps, form, given);
}

async function ask(
  { sealedStates }: Pick<RequestInputDeps, 'sealedStates'>,
  { acceptsForm }: ToolCall,
  {
    binding,
    form,
    next,
    asked,
  }: Pick<RequestableCall, 'binding' | 'asked'> & { form: CataloguedForm; next: Extract<Next, { kind: 'ask' }> },
): Promise<ToolCallAnswer> {
  if (!acceptsForm) return refused({ reason: 'needs_forms' });
  const round = (asked?.round ?? 0) + 1;
  if (round > MAX_ROUNDS + ROUNDS_OF_A_CATALOG * form.references.size) return NOT_GIVEN;
  // A new key each time, so that no key stands for two forms.
  const key = `request-${round}-${randomText(KEY_BYTES)}`;
  const { form: asking, given } = next;
  // A client could not send more back.
  if (Buffer.byteLength(JSON.stringify(given)) > MAX_GIVEN_BYTES) return NOT_GIVEN;
  const about = { key, form: inputDigest(form, asking), round, given };
  const requestState = await sealRound(sealedStates, callScope(binding), { kind: 'form', ...about });
  return { kind: 'asks', round: { kind: 'form', key, form: asking, requestState } };
}

/** The answers so far by field: null for an empty answer, and for a field with nothing to choose. It also has the search texts for catalogs. */
type Given = JsonObject;

/** The next question, or the complete answers. `unusable`: a required value cannot be chosen, so nothing is submitted. */
type Next =
  | { readonly kind: 'ask'; readonly form: RequestForm; readonly given: Given }
  | { readonly kind: 'complete'; readonly additions: Additions }
  | { readonly kind: 'unusable' };

type Catalogs = Pick<RequestCatalogs, 'look'>;
type NextInputDeps = Timing & { readonly requestCatalogs: Catalogs };

/** Names of schema fields begin with a letter, so there is no conflict. */
const SEARCH = '_search_';
const searchName = (name: string) => `${SEARCH}${name}`;
const MAX_SEARCH = 100;

/**
 * Asks for every field that can be asked for now. A field with a catalog waits for the fields that narrow it (ARAP-CAT-04), and is then a
 * choice among the catalog's values. If the catalog has too many, the form asks for a search first (ARAP-CAT-15). Throws the errors of `look`.
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

/** The answers so far with the answers to this form; `undefined` if these do not fit it. */
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

/** Identifies the question, so that an answer to another form does not count. It ignores the address of a catalog, which differs each time. */
function inputDigest({ form, references }: CataloguedForm, asked: RequestForm): string {
  const catalogs = [...references].map(([name, { endpoint: _endpoint, ...reference }]) => [name, reference]);
  return sha256(canonicalJson([form, asked, catalogs] as unknown as Json));
}

/** Fields that narrow a catalog come before the field with that catalog. */
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

/** `later`: a field that it depends on has no answer yet. `nothing`: there is nothing to choose, and the field is optional. */
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
  const typed = said[searchName(field.name)];
  const search = typeof typed === 'string' ? typed : undefined;
  const found = await catalogs.look(reference, { search, scope });
  if (found === undefined) return 'unusable';
  if (found === 'too_many') return searchFor(field, search === undefined ? '' : 'The search found too many values. ');
  const options = found.filter((option) => fits(field.schema, option.const));
  if (options.length > 0) return { ...field, schema: { ...texts(field), type: 'string', oneOf: options } };
  return search === undefined ? none : searchFor(field, 'The search found nothing. ');
}

/** A field that narrows a catalog has one value. */
const asText = (value: Json | undefined): string => (typeof value === 'string' ? value : JSON.stringify(value));

const texts = ({ schema: { title, description } }: FormField) => ({
  ...(title !== undefined && { title }),
  ...(description !== undefined && { description }),
});

/** The catalog is searched for its value. The value is never submitted. */
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
