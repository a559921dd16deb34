import { type Json, type JsonObject, objectOf } from '../canonical-json.ts';

/** Controls, formatting and bidirectional marks, separators, invisible characters, and halves of characters. */
const HIDDEN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]+/gu;
/** The same without the line feed and the tab, which people write. */
const UNWRITABLE = /(?![\n\t])[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;
/** Texts that a client could turn into a link. */
const ADDRESS = /:\/\/|\b(www\.|mailto:|javascript:|data:)/i;
/** For texts in lower case whose words are separated, without signs and digits. */
const SECRET =
  /\b(\w*pass ?(word|wort|wd|phrase|code)\w*|pwd|\w*secrets?|\w*tokens?|\w*credentials?|(api|access|private) ?keys?|card ?numbers?|credit ?cards?|cv[vc]|pins?|otps?)\b/;

/**
 * A foreign text as a form may show it: on one line, without characters that are invisible or turn text around, and cut to
 * `maxLength` characters. `undefined` when nothing is left of it, or when it names an address: forms have no links.
 * @see MRTR-047, PRJ-39
 */
export function shownText(text: string, maxLength: number): string | undefined {
  const line = text.replace(HIDDEN, ' ').replace(/ {2,}/g, ' ').trim();
  const cleaned = [...line].slice(0, maxLength).join('').trim();
  return cleaned === '' || ADDRESS.test(cleaned) ? undefined : cleaned;
}

/** A person's text in a form without invisible characters; lines and tabs stay. @see PRJ-39 */
export function writtenText(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(UNWRITABLE, '');
}

/** Whether a name or a text speaks of a secret, which no form may ask for: passwords, keys, tokens, payment cards. @see MRTR-040 */
export function speaksOfSecret(text: string): boolean {
  const words = text
    .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
    .replace(/[^\p{L}]+/gu, ' ');
  return SECRET.test(words.toLowerCase());
}

/** No form can express the schema. The message names the place and holds no text of the schema's author. */
export class NoForm extends Error {
  override readonly name = 'NoForm';
}

const FORMATS = ['email', 'uri', 'date', 'date-time'] as const;
type Format = (typeof FORMATS)[number];

/** One of several values, with the words that a form shows for it. */
export interface Option {
  readonly const: string;
  readonly title: string;
}

/** Schema of one field, in the forms that clients know. @see MCP elicitation, requested schema (MRTR-041) */
export type FieldSchema = { readonly title?: string; readonly description?: string } & (
  | { readonly type: 'boolean' }
  | { readonly type: 'number' | 'integer'; readonly minimum?: number; readonly maximum?: number }
  | { readonly type: 'string'; readonly minLength: number; readonly maxLength: number; readonly format?: Format }
  | { readonly type: 'string'; readonly oneOf: readonly Option[] }
  | {
      readonly type: 'array';
      readonly items: { readonly anyOf: readonly Option[] };
      readonly minItems: number;
      readonly maxItems: number;
    }
);

/** In characters. */
export const MAX_TITLE = 100;
const MAX_DESCRIPTION = 500;
const MAX_OPTIONS = 100;
export const MAX_OPTION = 200;
/** In characters, so that approvers can read it all. */
const MAX_TEXT = 4_000;

/** Members of a schema that restrict no value. A `default` is not handed on: only a person gives an answer. */
const ANNOTATIONS = ['title', 'description', 'default', 'examples', 'deprecated', '$comment'];

/**
 * The field for a schema of one value. A rule that no form can express could not be enforced, so a schema that has one is refused.
 * Throws `NoForm`.
 */
export function readField(schema: JsonObject, place: string): FieldSchema {
  const shown = shownTexts(schema, place);
  const allow = (...keywords: string[]) => allowOnly(schema, ['type', ...keywords], place);
  const type = typeof schema['type'] === 'string' ? schema['type'] : '';
  switch (type) {
    case 'boolean':
      allow();
      return { ...shown, type: 'boolean' };
    case 'number':
    case 'integer':
      allow('minimum', 'maximum');
      return { ...shown, type, ...numberRange(schema, place) };
    case 'string':
      if (schema['enum'] !== undefined || schema['oneOf'] !== undefined) {
        allow('enum', 'oneOf');
        return { ...shown, type: 'string', oneOf: readOptions(schema, place) };
      }
      allow('minLength', 'maxLength', 'format');
      return { ...shown, type: 'string', ...lengthRange(schema, place), ...format(schema, place) };
    case 'array':
      allow('items', 'minItems', 'maxItems', 'uniqueItems');
      return { ...shown, ...readChoices(schema, place) };
    default:
      throw new NoForm(`${place} is no text, number, boolean or choice`);
  }
}

/** Title and description as they may be shown. Throws `NoForm` where they speak of a secret, whether they are shown or not. */
export function shownTexts(schema: JsonObject, place: string): { title?: string; description?: string } {
  const read = (member: 'title' | 'description', maxLength: number) => {
    const text = schema[member];
    if (typeof text !== 'string') return undefined;
    if (speaksOfSecret(text)) throw new NoForm(`${place} asks for a secret`);
    return shownText(text, maxLength);
  };
  const title = read('title', MAX_TITLE);
  const description = read('description', MAX_DESCRIPTION);
  return { ...(title !== undefined && { title }), ...(description !== undefined && { description }) };
}

export function allowOnly(schema: JsonObject, keywords: readonly string[], place: string): void {
  if (schema['writeOnly'] === true || schema['format'] === 'password') throw new NoForm(`${place} asks for a secret`);
  const known = [...keywords, ...ANNOTATIONS, 'writeOnly'];
  const strange = Object.keys(schema).find((keyword) => !known.includes(keyword));
  if (strange !== undefined) throw new NoForm(`${place} has a rule that no form can express`);
}

function format(schema: JsonObject, place: string): { format?: Format } {
  const given = schema['format'];
  if (given === undefined) return {};
  const known = FORMATS.find((one) => one === given);
  if (known === undefined) throw new NoForm(`${place} has a format that forms do not know`);
  return { format: known };
}

/** Choices of several values; each at most once, whether or not the schema says so. */
function readChoices(schema: JsonObject, place: string): Extract<FieldSchema, { type: 'array' }> {
  const items = objectOf(schema['items']);
  const { type, anyOf, ...rest } = items;
  if (type !== undefined && type !== 'string') throw new NoForm(`${place} is a list of other things than texts`);
  allowOnly(rest, ['enum', 'oneOf'], place);
  const options = readOptions({ ...rest, ...(anyOf !== undefined && { oneOf: anyOf }) }, place);
  const { minLength: minItems, maxLength: maxItems } = lengthRange(
    { minLength: schema['minItems'] ?? 0, maxLength: schema['maxItems'] ?? MAX_TEXT },
    place,
  );
  if (minItems > options.length) throw new NoForm(`${place} cannot be answered`);
  return { type: 'array', items: { anyOf: options }, minItems, maxItems: Math.min(maxItems, options.length) };
}

/** From `enum`, or from `oneOf` with a constant and a title each. */
function readOptions(schema: JsonObject, place: string): Option[] {
  const { enum: values, oneOf } = schema;
  const listed: unknown = values ?? oneOf;
  if (!Array.isArray(listed) || listed.length === 0 || listed.length > MAX_OPTIONS || (values && oneOf)) {
    throw new NoForm(`${place} has no list of values, or one that is too long`);
  }
  const options = (listed as Json[]).map((one) => readOption(one, place));
  if (new Set(options.map((one) => one.const)).size < options.length) throw new NoForm(`${place} has a value twice`);
  return options;
}

/** Refuses a value that would be shown otherwise than it is sent. Shows the visible part of its title. */
function readOption(listed: Json, place: string): Option {
  const option = typeof listed === 'string' ? { const: listed } : objectOf(listed);
  allowOnly(option, ['const'], place);
  const { const: value } = option;
  if (typeof value !== 'string' || shownText(value, MAX_OPTION) !== value) {
    throw new NoForm(`${place} has a value that cannot be shown`);
  }
  return { const: value, title: shownTexts(option, place).title ?? value };
}

function numberRange(schema: JsonObject, place: string): { minimum?: number; maximum?: number } {
  const { minimum, maximum } = schema;
  for (const bound of [minimum, maximum]) {
    if (bound !== undefined && !Number.isFinite(bound)) throw new NoForm(`${place} has a bound that is no number`);
  }
  const [least, most] = [minimum as number | undefined, maximum as number | undefined];
  if (least !== undefined && most !== undefined && least > most) throw new NoForm(`${place} cannot be answered`);
  return { ...(least !== undefined && { minimum: least }), ...(most !== undefined && { maximum: most }) };
}

function lengthRange(schema: JsonObject, place: string): { minLength: number; maxLength: number } {
  const count = (value: Json) => {
    if (!Number.isSafeInteger(value) || Number(value) < 0) throw new NoForm(`${place} has a bound that is no length`);
    return Number(value);
  };
  const minLength = count(schema['minLength'] ?? 0);
  const maxLength = Math.min(count(schema['maxLength'] ?? MAX_TEXT), MAX_TEXT);
  if (minLength > maxLength) throw new NoForm(`${place} cannot be answered`);
  return { minLength, maxLength };
}
