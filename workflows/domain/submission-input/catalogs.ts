import { isObject, type Json, type JsonObject } from '../canonical-json.ts';
import { requestForm, type FormField, type RequestForm } from './request-form.ts';

/** The catalog for the values of a field. @see ARAP, Catalogs Document */
export interface CatalogReference {
  readonly endpoint: string;
  readonly searchParameter: string;
  /** Names of the fields that narrow the catalog down, by the parameter that carries their values. */
  readonly scope: readonly (readonly [parameter: string, field: string])[];
  readonly valuePath: readonly string[];
  readonly labelPath: readonly string[];
}

/** A form of which some fields have catalogs. A field that a required one depends on is required in it. */
export interface CataloguedForm {
  readonly form: RequestForm;
  readonly references: ReadonlyMap<string, CatalogReference>;
}

/** The document cannot be used. The message holds no text of its author. */
class NoCatalogs extends Error {
  override readonly name = 'NoCatalogs';
}

/**
 * Reads a Catalogs Document beside the form of its schema, and ignores unknown members. A reference that can never be resolved is a
 * problem with the whole document: a field without its catalog cannot be asked for. `problem` is for operators.
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

/** The same, from the schema: for the author of both, before they are used. */
export function catalogueProblem(document: Json, schema: Json): string | undefined {
  const form = requestForm(schema);
  const read = 'problem' in form ? form : cataloguedForm(document, form);
  return 'problem' in read ? read.problem : undefined;
}

function asObject(value: Json | undefined): JsonObject {
  if (isObject(value)) return value;
  throw new NoCatalogs('it has another value where an object belongs');
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
  throw new NoCatalogs('a reference lacks a text that it needs');
}

/** @see RFC 6901 */
function pathOf(pointer: string): readonly string[] {
  if (!/^(\/([^/~]|~[01])+)+$/.test(pointer)) throw new NoCatalogs('a JSON Pointer is not valid');
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
  if (field.schema.type !== 'string') throw new NoCatalogs('a field with a catalog is not a text');
  return field;
}

/** Fields that depend on each other could never be asked for. */
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
  // The loop over a set reaches members that are added meanwhile, so sources of sources are required as well.
  for (const name of required) for (const [, source] of references.get(name)?.scope ?? []) required.add(source);
  return { ...form, fields: form.fields.map((field) => ({ ...field, isRequired: required.has(field.name) })) };
}
