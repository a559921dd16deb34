import { type Json, type JsonObject, objectOf } from '../canonical-json.ts';
import { requestForm, type FormField, type RequestForm } from './request-form.ts';

/** Where the values of a field are chosen from. @see ARAP, Catalogs Document */
export interface CatalogReference {
  readonly endpoint: string;
  /** Parameter of the text that is looked for. */
  readonly searchParameter: string;
  /** Names of the fields that narrow the catalog down, by the parameter that carries their values. */
  readonly scope: readonly (readonly [parameter: string, field: string])[];
  /** Where value and label stand in an item. */
  readonly valuePath: readonly string[];
  readonly labelPath: readonly string[];
}

/** A form of which some fields have catalogs. A field that a required one depends on is required in it. */
export interface CataloguedForm {
  readonly form: RequestForm;
  /** By the name of the field. */
  readonly references: ReadonlyMap<string, CatalogReference>;
}

/** The document asks for what cannot be done. The message holds no text of its author. */
class NoCatalogs extends Error {
  override readonly name = 'NoCatalogs';
}

/**
 * Reads a Catalogs Document beside the form of its schema. Members that it does not know are no matter. What cannot be resolved whatever is
 * filled in is a problem with the whole document: a field without its catalog is none to ask for. `problem` is for operators.
 * @see ARAP, Catalogs Document (ARAP-CAT-01 to ARAP-CAT-04)
 */
export function cataloguedForm(document: Json, form: RequestForm): CataloguedForm | { readonly problem: string } {
  try {
    const { fields } = asObject(document);
    if (fields === undefined) throw new NoCatalogs('it has no member "fields"');
    const entries = Object.entries(asObject(fields)).map(([pointer, reference]) => {
      const field = textFieldAt(pointer, form);
      return [field.name, readReference(asObject(reference), form)] as const;
    });
    const references = new Map(entries);
    for (const name of references.keys()) refuseCircle(name, references);
    return { form: withRequiredSources(form, references), references };
  } catch (error) {
    if (error instanceof NoCatalogs) return { problem: error.message };
    throw error;
  }
}

/** The same, from the schema: what whoever wrote both has to know before they are used. */
export function catalogueProblem(document: Json, schema: Json): string | undefined {
  const form = requestForm(schema);
  const read = 'problem' in form ? form : cataloguedForm(document, form);
  return 'problem' in read ? read.problem : undefined;
}

function asObject(value: Json | undefined): JsonObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new NoCatalogs('something in it is no object');
  }
  return value as JsonObject;
}

function readReference(reference: JsonObject, form: RequestForm): CatalogReference {
  const scope = Object.entries(asObject(reference['scope_params'] ?? {})).map(([parameter, pointer]) => {
    const source = fieldAt(text(pointer), form);
    if (source.schema.type === 'array') throw new NoCatalogs('a catalog depends on a field of several values');
    return [parameter, source.name] as const;
  });
  return {
    endpoint: text(reference['endpoint']),
    searchParameter: text(reference['search_param'] ?? 'q'),
    scope,
    valuePath: pathOf(text(reference['value_path'] ?? '/value')),
    labelPath: pathOf(text(reference['label_path'] ?? '/label')),
  };
}

function text(value: Json | undefined): string {
  if (typeof value === 'string' && value !== '') return value;
  throw new NoCatalogs('a reference says too little');
}

/** @see RFC 6901 */
function pathOf(pointer: string): readonly string[] {
  if (!/^(\/([^/~]|~[01])+)+$/.test(pointer)) throw new NoCatalogs('a pointer is none');
  return pointer
    .slice(1)
    .split('/')
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function fieldAt(pointer: string, { fields }: RequestForm): FormField {
  const path = pathOf(pointer);
  const found = fields.find((one) => one.path.length === path.length && one.path.every((part, n) => part === path[n]));
  if (found === undefined) throw new NoCatalogs('it names a field that the schema does not have');
  return found;
}

function textFieldAt(pointer: string, form: RequestForm): FormField {
  const field = fieldAt(pointer, form);
  if (field.schema.type !== 'string') throw new NoCatalogs('a field with a catalog is no text');
  return field;
}

/** Fields that wait for each other could never be asked for. */
function refuseCircle(name: string, references: ReadonlyMap<string, CatalogReference>): void {
  const seen = new Set<string>();
  const open = [name];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    const sources = (references.get(at)?.scope ?? []).map(([, source]) => source);
    if (sources.includes(name)) throw new NoCatalogs('fields depend on each other in a circle');
    open.push(...sources.filter((source) => !seen.has(source)));
    for (const source of sources) seen.add(source);
  }
}

function withRequiredSources(form: RequestForm, references: ReadonlyMap<string, CatalogReference>): RequestForm {
  const required = new Set(form.fields.filter(({ isRequired }) => isRequired).map(({ name }) => name));
  // A set hands out what is added while it is gone through, so sources of sources are required as well.
  for (const name of required) for (const [, source] of references.get(name)?.scope ?? []) required.add(source);
  return { ...form, fields: form.fields.map((field) => ({ ...field, isRequired: required.has(field.name) })) };
}

/** The value at a path of an item; undefined when there is none. */
export function valueIn(item: Json, path: readonly string[]): Json | undefined {
  return path.reduce<Json | undefined>((of, name) => {
    const members = objectOf(of);
    return Object.hasOwn(members, name) ? members[name] : undefined;
  }, item);
}
