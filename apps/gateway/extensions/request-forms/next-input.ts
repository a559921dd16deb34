import { canonicalJson, type Json, type JsonObject } from '../../../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../../../workflows/domain/errors.ts';
import type { RequestCatalogs } from '../../../../workflows/domain/ports.ts';
import { additionsOf, answerTo, fits, type Additions } from '../../../../workflows/domain/submission-input/answers.ts';
import type { CataloguedForm, CatalogReference } from '../../../../workflows/domain/submission-input/catalogs.ts';
import type { FieldSchema } from '../../../../workflows/domain/submission-input/form-field.ts';
import type { FormField, RequestForm } from '../../../../workflows/domain/submission-input/request-form.ts';
import type { Timing } from '../../../shared/limits.ts';
import { sha256 } from '../../../shared/sha256.ts';

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

/** What a form is made with. */
export interface NextInputDeps extends Timing {
  readonly requestCatalogs: Catalogs;
}

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
  if (found === 'too_many') return searchFor(field, search === undefined ? '' : 'Too much was found. ');
  const options = found.filter((option) => fits(field.schema, option.const));
  if (options.length > 0) return { ...field, schema: { ...texts(field), type: 'string', oneOf: options } };
  return search === undefined ? none : searchFor(field, 'Nothing was found. ');
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
    description: `${before}Type a part of the name. What is found can be chosen from next.`,
    minLength: 1,
    maxLength: MAX_SEARCH,
  };
  return { ...field, name: searchName(field.name), path: [searchName(field.name)], schema };
}
