import { canonicalJson, type Json, type JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { MappingError } from './json-of.ts';
import { compileTemplate, expressionsIn, memberOf, type Template } from './template.ts';

/** The parts of one question, as far as it has them itself. */
export type Parts = Readonly<Partial<Record<(typeof PARTS)[number], Template>>>;

/** A mapping whose form is right. @see COAZ, The Mapping */
export interface Mapping {
  readonly envelope: Envelope;
  /** What every question has that does not say it itself. */
  readonly shared: Parts;
  /** One for each decision. None of them has a subject of its own. */
  readonly questions: readonly Parts[];
}

/** Every expression of a mapping. */
export const expressionsOf = ({ shared, questions }: Mapping) =>
  [shared, ...questions].flatMap((parts) => Object.values(parts).flatMap(expressionsIn));

type Envelope = 'evaluation' | 'evaluations';
const ENVELOPES: readonly string[] = ['evaluation', 'evaluations'] satisfies Envelope[];
const PARTS = ['subject', 'action', 'resource', 'context'] as const;
/** What an entity may have. Whatever else is to be said of it goes below `properties` (COAZ-FW-03). */
const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  subject: ['type', 'id', 'properties'],
  action: ['name', 'properties'],
  resource: ['type', 'id', 'properties'],
};
const MAX_LENGTH = 32 * 1024;
const MAX_QUESTIONS = 32;

/**
 * Reads a mapping. What is wrong with its form, with an expression or with a name in one is known from here on, before there is
 * a message. Throws a `MappingError`.
 * @see COAZ, Mapping Integrity (COAZ-FW-24, COAZ-DC-06)
 */
export function compileMapping(content: Json): Mapping {
  const mapping = objectAt(content, 'the mapping');
  if (lengthOf(mapping) > MAX_LENGTH) throw new MappingError(`the mapping is longer than ${MAX_LENGTH} characters`);
  const [envelope, ...others] = Object.keys(mapping);
  if (envelope === undefined || others.length > 0 || !ENVELOPES.includes(envelope)) {
    throw new MappingError('the mapping does not have exactly one member, evaluation or evaluations');
  }
  const body = objectAt(mapping[envelope], envelope);
  if (envelope === 'evaluation') {
    onlyMembers(body, envelope, PARTS);
    return { envelope, shared: {}, questions: [partsOf(body, envelope)] };
  }
  // How the entries are evaluated is for whoever asks: all of them have to be allowed, whatever the options say.
  onlyMembers(body, envelope, [...PARTS, 'evaluations', 'options']);
  const { evaluations, options: _options, ...shared } = body;
  return { envelope: 'evaluations', shared: partsOf(shared, envelope), questions: questionsOf(evaluations) };
}

/** Only what is written down counts: a list that comes of an expression makes no further decisions (COAZ-FW-13). */
function questionsOf(evaluations: Json | undefined): readonly Parts[] {
  const at = 'evaluations.evaluations';
  if (evaluations !== undefined && !isList(evaluations)) throw new MappingError(`${at} is not a list`);
  // None means one, about what is shared. @see AuthZEN Authorization API 1.0, section 7.1
  const entries = evaluations === undefined || evaluations.length === 0 ? [{}] : evaluations;
  if (entries.length > MAX_QUESTIONS) throw new MappingError(`${at} has more than ${MAX_QUESTIONS} entries`);
  return entries.map((entry, index) => {
    const body = objectAt(entry, `${at}[${index}]`);
    if (Object.hasOwn(body, 'subject')) throw new MappingError(`${at}[${index}] has a subject of its own`);
    onlyMembers(body, `${at}[${index}]`, PARTS);
    return partsOf(body, `${at}[${index}]`);
  });
}

function partsOf(body: JsonObject, at: string): Parts {
  const parts = PARTS.flatMap((part) => {
    const content = body[part];
    if (content === undefined) return [];
    const members = MEMBERS[part];
    if (members !== undefined && isObject(content)) onlyMembers(content, memberOf(at, part), members);
    return [[part, compileTemplate(content, memberOf(at, part))] as const];
  });
  return Object.fromEntries(parts);
}

function onlyMembers(object: JsonObject, at: string, names: readonly string[]): void {
  const unknown = Object.keys(object).find((name) => !names.includes(name));
  if (unknown === undefined) return;
  throw new MappingError(
    `${memberOf(at, unknown)} has no meaning; what is said of an entity goes below its properties`,
  );
}

function objectAt(content: Json | undefined, at: string): JsonObject {
  if (content !== undefined && isObject(content)) return content;
  throw new MappingError(`${at} is not an object`);
}

function lengthOf(mapping: JsonObject): number {
  try {
    return canonicalJson(mapping).length;
  } catch {
    throw new MappingError('the mapping has no canonical form');
  }
}

const isList = (value: Json): value is readonly Json[] => Array.isArray(value);
const isObject = (value: Json): value is JsonObject => value !== null && typeof value === 'object' && !isList(value);
