import { type Json, type JsonObject, ownProperty } from '../canonical-json.ts';
import { type FieldSchema, writtenText } from './form-field.ts';
import type { FormField, RequestForm } from './request-form.ts';

/** The requester's input for a submission, member by member of its body. @see ARAP-FRM-02 */
export type Additions = { readonly [Place in 'context' | 'requested_access']?: JsonObject };

/** Stricter than the standards, and each in linear time: every service takes a text that fits. */
const EMAIL = /^[\w!#$%&'*+/=?^`{|}~-]+(\.[\w!#$%&'*+/=?^`{|}~-]+)*@(?!-)[a-z0-9-]+(?<!-)(\.(?!-)[a-z0-9-]+(?<!-))+$/i;
const URI =
  /^[a-z][a-z0-9+.-]*:(\/\/[a-z0-9.-]+(:\d+)?(?=[/?#]|$)|\/?(?=[\w.~%-]))([\w.~!$&'()*+,;=:@/-]|%[0-9a-f]{2})*(\?([\w.~-]|[/=&]|%[0-9a-f]{2})*)?(#[\w.~-]*)?$/i;
const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  email: (text) => EMAIL.test(text),
  uri: (text) => URI.test(text),
  date: (text) => /^\d{4}-\d{2}-\d{2}$/.test(text) && isDay(text),
  'date-time': (text) =>
    /^\d{4}-\d{2}-\d{2}T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/.test(text) &&
    isDay(text.slice(0, 10)),
};

/**
 * The additions of a filled-in form to a submission; `undefined` when a value is missing or does not fit. Members that the form
 * does not ask for are left out, and nothing is converted or filled in. @see ARAP-FRM-03, MRTR-044
 */
export function additionsOf(form: RequestForm, content: JsonObject): Additions | undefined {
  const additions: Record<string, Json> = {};
  for (const path of form.objects) place(additions, path, {});
  for (const field of form.fields) {
    const answer = ownProperty(content, field.name);
    if (answer === undefined || answer === null) {
      if (field.isRequired) return undefined;
      continue;
    }
    const value = typeof answer === 'string' ? written(answer, field) : answer;
    if (value === undefined || !fits(field.schema, value)) return undefined;
    place(additions, field.path, value);
  }
  return additions;
}

/** The members of an answer that the form asks for; `undefined` when they do not fit it. @see MRTR-044 */
export function answerTo(form: RequestForm, content: JsonObject): JsonObject | undefined {
  if (additionsOf(form, content) === undefined) return undefined;
  const asked = form.fields.filter(({ name }) => Object.hasOwn(content, name));
  return Object.fromEntries(asked.map(({ name }) => [name, content[name] ?? null]));
}

/** The titles of the fields whose answers are missing or do not fit, for the person who is asked again. */
export const misfitsOf = (form: RequestForm, content: JsonObject): readonly string[] =>
  form.fields
    .filter((field) => additionsOf({ ...form, fields: [field] }, content) === undefined)
    .map(({ name, schema }) => schema.title ?? name);

/** Half of a character has no form in which it could be sent. */
const written = (text: string, { schema }: FormField): string | undefined => {
  if (!text.isWellFormed()) return undefined;
  return 'oneOf' in schema ? text : writtenText(text);
};

export function fits(schema: FieldSchema, value: Json): boolean {
  switch (schema.type) {
    case 'boolean':
      return typeof value === 'boolean';
    case 'integer':
    case 'number': {
      if (typeof value !== 'number' || !Number.isFinite(value)) return false;
      if (schema.type === 'integer' && !Number.isSafeInteger(value)) return false;
      return value >= (schema.minimum ?? -Infinity) && value <= (schema.maximum ?? Infinity);
    }
    case 'array':
      return isChoice(schema, value);
    case 'string':
      if (typeof value !== 'string') return false;
      if ('oneOf' in schema) return schema.oneOf.some((option) => option.const === value);
      return (
        isWithin([...value].length, schema.minLength, schema.maxLength) &&
        FORMATS[schema.format ?? '']?.(value) !== false
      );
  }
}

function isChoice(schema: Extract<FieldSchema, { type: 'array' }>, value: Json): boolean {
  if (!Array.isArray(value)) return false;
  const chosen = value as readonly Json[];
  const isOption = (one: Json) => schema.items.anyOf.some((option) => option.const === one);
  const isOnce = new Set(chosen).size === chosen.length;
  return isOnce && chosen.every(isOption) && isWithin(chosen.length, schema.minItems, schema.maxItems);
}

const isWithin = (count: number, least: number, most: number) => count >= least && count <= most;

function isDay(text: string): boolean {
  const at = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(text);
}

/** Puts a value where the path says; the objects on the way are there already. Names were checked: none is `__proto__`. */
function place(into: Record<string, Json>, path: readonly string[], value: Json): void {
  const [name = '', ...rest] = path;
  if (rest.length === 0) into[name] = value;
  else place(into[name] as Record<string, Json>, rest, value);
}
