import { canonicalJson, type Json, type JsonObject, objectOf } from '../canonical-json.ts';
import { allowOnly, type FieldSchema, NoForm, readField, shownTexts, speaksOfSecret } from './form-field.ts';

export interface FormField {
  readonly name: string;
  readonly path: readonly string[];
  readonly isRequired: boolean;
  readonly schema: FieldSchema;
}

/** The input that an access request needs beside the call, as one form. */
export interface RequestForm {
  /** Its subject in the words of the access request service, cleaned. */
  readonly purpose?: string;
  readonly fields: readonly FormField[];
  /** Every object of the schema, outermost first: a submission has them even when they are empty. */
  readonly objects: readonly (readonly string[])[];
}

const MAX_FIELDS = 20;
const MAX_DEPTH = 4;
const NAME = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;
/** Additions go into these members of a submission and no others. @see ARAP-FRM-02 */
const PLACES = ['context', 'requested_access'];
/** Members of the evaluated call, and those that only the service may set: no addition alters them. @see ARAP-SUB-05 */
const TAKEN: ReadonlySet<string> = new Set(['agent', 'arguments', 'call_digest', 'approval']);

/**
 * The form for the JSON Schema of additions to `context` and `requested_access`: its texts, numbers, booleans and choices, in one
 * flat list. A value that no form can ask for, or that none may ask for (secrets), is a problem with the whole schema: an incomplete
 * request is not made. `problem` is for operators.
 * @see ARAP, machine-readable forms (ARAP-FRM-03, ARAP-FRM-05); MCP elicitation (MRTR-040, MRTR-041)
 */
export function requestForm(schema: Json): RequestForm | { readonly problem: string } {
  try {
    const root = objectOf(schema);
    const { description, title } = shownTexts(root, 'the schema');
    const { fields, objects } = readObject(root, []);
    if (fields.length > MAX_FIELDS) throw new NoForm(`more than ${MAX_FIELDS} things are asked for`);
    if (new Set(fields.map(({ name }) => name)).size < fields.length) throw new NoForm('two fields have one name');
    const purpose = description ?? title;
    return { ...(purpose !== undefined && { purpose }), fields, objects };
  } catch (error) {
    if (error instanceof NoForm) return { problem: error.message };
    throw error;
  }
}

/** The form as clients are sent it. @see MCP elicitation, requested schema */
export function requestedSchema({ fields }: Pick<RequestForm, 'fields'>): JsonObject {
  const required = fields.filter(({ isRequired }) => isRequired).map(({ name }) => name);
  return {
    type: 'object',
    properties: Object.fromEntries(fields.map(({ name, schema }) => [name, schema as JsonObject])),
    ...(required.length > 0 && { required }),
  };
}

/**
 * Names a form by what it asks for: answers to one are none to another.
 *
 * @param sha256 Of UTF-8 text, in lower-case hex.
 */
export const formDigest = (form: RequestForm, sha256: (text: string) => string): string =>
  sha256(canonicalJson(form as unknown as Json));

/**
 * The form in parts, for a requester who is in the middle of another activity: the fields of each object of the schema that has a
 * required one are one question. An object without required fields is not asked about.
 */
export function questionsOf(form: RequestForm): RequestForm[] {
  const places = new Map<string, FormField[]>();
  for (const field of form.fields) {
    const place = field.path.slice(0, -1).join('.');
    places.set(place, [...(places.get(place) ?? []), field]);
  }
  const needed = [...places.values()].filter((fields) => fields.some(({ isRequired }) => isRequired));
  return needed.map((fields) => ({ ...form, fields }));
}

/** The required members of an optional object are required here, too: the form may ask for too much, never for too little. */
function readObject(schema: JsonObject, path: readonly string[]): Pick<RequestForm, 'fields' | 'objects'> {
  const place = path.length === 0 ? 'the schema' : path.join('.');
  if (schema['type'] !== 'object') throw new NoForm(`${place} is no object`);
  if (path.length >= MAX_DEPTH) throw new NoForm(`${place} is nested too deeply`);
  const keywords = ['$schema', '$id', 'type', 'properties', 'required', 'additionalProperties'];
  allowOnly(schema, keywords, place);
  // A schema for members that it does not name asks for what has no name in a form.
  if (!['boolean', 'undefined'].includes(typeof schema['additionalProperties'])) {
    throw new NoForm(`${place} has rules for members without a name`);
  }
  shownTexts(schema, place);
  const properties = Object.entries(objectOf(schema['properties']));
  const required = requiredOf(schema, place);
  if (required.some((name) => !properties.some(([known]) => known === name))) {
    throw new NoForm(`${place} requires a member that it does not describe`);
  }
  const parts = properties.map(([name, of]) => readMember(objectOf(of), [...path, name], required.includes(name)));
  return {
    fields: parts.flatMap(({ fields }) => fields),
    objects: [...(path.length > 0 ? [path] : []), ...parts.flatMap(({ objects }) => objects)],
  };
}

function readMember(
  schema: JsonObject,
  path: readonly string[],
  isRequired: boolean,
): Pick<RequestForm, 'fields' | 'objects'> {
  const name = path.at(-1) ?? '';
  if (!NAME.test(name)) throw new NoForm('a member has a name that forms do not show');
  const place = path.join('.');
  if (path.length === 1 && !PLACES.includes(name)) throw new NoForm(`${place} is no place for additions`);
  const isInContext = path.length === 2 && path[0] === 'context';
  if (isInContext && TAKEN.has(name)) throw new NoForm(`${place} is what the call says`);
  if (speaksOfSecret(name)) throw new NoForm(`${place} asks for a secret`);
  if (path.length === 1 || schema['type'] === 'object') return readObject(schema, path);
  return { fields: [{ name, path, isRequired, schema: readField(schema, place) }], objects: [] };
}

function requiredOf(schema: JsonObject, place: string): readonly string[] {
  const required: unknown = schema['required'] ?? [];
  if (!Array.isArray(required) || !required.every((name): name is string => typeof name === 'string')) {
    throw new NoForm(`${place} requires a member without a name`);
  }
  return required;
}
