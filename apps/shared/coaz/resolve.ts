import type { EvaluationRequest, Subject } from '../../../workflows/domain/authzen/evaluation.ts';
import type { Json, JsonObject } from '../../../workflows/domain/canonical-json.ts';
import type { Timing } from '../limits.ts';
import { withinTime } from '../schemas/schema-check.ts';
import type { Variables } from './expression.ts';
import { type Budget, jsonOf, MappingError, newBudget } from './json-of.ts';
import { expressionsOf, type Mapping, type Parts } from './mapping.ts';
import type { Template } from './template.ts';

/** What a mapping that says nothing of it calls its subject. @see COAZ-SU-07 */
export const SUBJECT_TYPE = 'identity';

/** What a mapping is resolved with. */
interface Resolving extends Variables {
  /** Whom the token is about: the subject of a mapping that names none. */
  readonly identity: string;
}

/** What bounds the time that mappings take. */
export interface MappingTime extends Timing {
  /** Of this process: what its mappings took so far. */
  readonly slow: SlowMappings;
}

/**
 * The questions of a mapping about one message, one for each decision. Throws a `MappingError` when an expression fails or takes
 * too long, when a value is not JSON, and when something is missing that a question has to have.
 * @see COAZ, Expression Contract (COAZ-FW-09 to 12)
 */
export function resolveMapping(
  mapping: Mapping,
  resolving: Resolving,
  { slow, clock, limits }: MappingTime,
): readonly [EvaluationRequest, ...EvaluationRequest[]] {
  const resolveNow = () => resolved(mapping, resolving);
  // The clock is for what depends on how much there is in a message. On a busy machine anything may take long.
  if (!expressionsOf(mapping).some(({ expression }) => expression.isCostly)) return resolveNow();
  const begun = clock.monotonicMs();
  if (slow.rests(mapping, begun)) throw new MappingError('the mapping took too long lately; repeat this later');
  try {
    return withinTime(limits.mappingMs, resolveNow);
  } catch (error) {
    if (error instanceof MappingError) throw error;
    throw new MappingError('the mapping takes too long for this message');
  } finally {
    const ended = clock.monotonicMs();
    slow.took(mapping, ended - begun, ended);
  }
}

function resolved(mapping: Mapping, resolving: Resolving): readonly [EvaluationRequest, ...EvaluationRequest[]] {
  const budget = newBudget();
  const [first, ...others] = mapping.questions;
  if (first === undefined) throw new MappingError('the mapping asks nothing');
  const subject = subjectOf(mapping.shared.subject ?? first.subject, resolving, budget);
  const shared = resolveParts(mapping.shared, resolving, budget);
  const ask = (parts: Parts) => ({
    subject,
    ...questionOf({ ...shared, ...withoutAbsent(resolveParts(parts, resolving, budget)) }),
  });
  return [ask(first), ...others.map(ask)];
}

/** Without the subject, which all questions share. */
type Resolved = { readonly [part in Exclude<keyof Parts, 'subject'>]?: Json | undefined };

function resolveParts({ subject: _subject, ...parts }: Parts, variables: Variables, budget: Budget): Resolved {
  return Object.fromEntries(
    Object.entries(parts).map(([part, template]) => [part, resolve(template, variables, budget)]),
  );
}

/** Where an entry's own member is not there after all, the shared one counts. */
const withoutAbsent = (resolved: Resolved): Resolved =>
  Object.fromEntries(Object.entries(resolved).filter(([, value]) => value !== undefined && value !== null));

/** `undefined`: absent. Whatever has it as a member or an item does not have it (COAZ-FW-09). */
function resolve(template: Template, variables: Variables, budget: Budget): Json | undefined {
  switch (template.kind) {
    case 'literal':
      return template.value;
    case 'expression':
      return evaluated(template, variables, budget);
    case 'list':
      return template.items.flatMap((item) => {
        const value = resolve(item, variables, budget);
        return value === undefined ? [] : [value];
      });
    case 'map':
      return Object.fromEntries(
        template.members.flatMap(([name, member]) => {
          const value = resolve(member, variables, budget);
          return value === undefined ? [] : [[name, value] as const];
        }),
      );
  }
}

function evaluated(
  { expression, at }: Extract<Template, { kind: 'expression' }>,
  { params, token }: Variables,
  budget: Budget,
): Json | undefined {
  let value: unknown;
  try {
    value = expression.evaluate({ params, token });
  } catch {
    // Its message may quote what is in the message or the token, so only the place is told.
    throw new MappingError(`${at} cannot be evaluated for this message`);
  }
  return jsonOf(value, at, budget);
}

/**
 * What a mapping leaves out of its subject is filled in, type by type and id by id; what it has is to be there (COAZ-FW-12,
 * COAZ-SU-06, COAZ-SU-07).
 */
function subjectOf(template: Template | undefined, resolving: Resolving, budget: Budget): Subject {
  const left = { type: SUBJECT_TYPE, id: resolving.identity };
  if (template === undefined) return left;
  const said = resolve(template, resolving, budget);
  const names = template.kind === 'map' ? template.members.map(([name]) => name) : Object.keys(left);
  return {
    type: names.includes('type') ? textOf(said, 'subject', 'type') : left.type,
    id: names.includes('id') ? textOf(said, 'subject', 'id') : left.id,
    ...propertiesOf(said, 'subject'),
  };
}

function questionOf({ action, resource, context }: Resolved): Omit<EvaluationRequest, 'subject'> {
  return {
    action: { name: textOf(action, 'action', 'name'), ...propertiesOf(action, 'action') },
    resource: {
      type: textOf(resource, 'resource', 'type'),
      id: textOf(resource, 'resource', 'id'),
      ...propertiesOf(resource, 'resource'),
    },
    context: context === undefined || context === null ? {} : objectAt(context, 'context'),
  };
}

function textOf(entity: Json | undefined, part: string, member: string): string {
  const value = objectAt(entity, part)[member];
  if (typeof value === 'string' && value !== '') return value;
  throw new MappingError(`${part}.${member} does not come to a text that is not empty`);
}

function propertiesOf(entity: Json | undefined, part: string): { readonly properties?: JsonObject } {
  const { properties } = objectAt(entity, part);
  if (properties === undefined || properties === null) return {};
  return { properties: objectAt(properties, `${part}.properties`) };
}

function objectAt(value: Json | undefined, part: string): JsonObject {
  if (value !== undefined && value !== null && typeof value === 'object' && !isList(value)) return value;
  throw new MappingError(`${part} does not come to an object`);
}

const isList = (value: JsonObject | readonly Json[]): value is readonly Json[] => Array.isArray(value);

/** What takes less than this part of the limit is no slower than any other step of a message. */
const SLOW = 1 / 10;
/** As much of the time as slow mappings may have together. */
const SHARE = 1 / 20;
/** This part of the limit may be owed before they wait: one that a busy machine made slow once is not refused for it. */
const CREDIT = 2 / 5;

/**
 * How long mappings hold the process, in which nobody else is served meanwhile. All that were slow before share one small part of
 * the time, however many they are; one that never was does not wait for them.
 */
export interface SlowMappings {
  /** Whether this one has to wait, since it and others like it had their part. `nowMs`: of a clock that only goes on. */
  rests(mapping: object, nowMs: number): boolean;
  /** Notes how long one took. */
  took(mapping: object, ms: number, nowMs: number): void;
}

/** @param limitMs The longest that one mapping may take. */
export function createSlowMappings(limitMs: number): SlowMappings {
  const slow = new WeakSet();
  let owedMs = 0;
  let countedMs = 0;
  const owedAt = (nowMs: number) => Math.max(0, owedMs - Math.max(0, nowMs - countedMs) * SHARE);
  return {
    rests: (mapping, nowMs) => slow.has(mapping) && owedAt(nowMs) > limitMs * CREDIT,
    took(mapping, ms, nowMs) {
      if (ms < limitMs * SLOW) return;
      slow.add(mapping);
      owedMs = owedAt(nowMs) + ms;
      countedMs = nowMs;
    },
  };
}
