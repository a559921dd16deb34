import type { EvaluationRequest, Subject } from '../../../workflows/domain/authzen/evaluation.ts';
import { isObject, type Json, type JsonObject } from '../../../workflows/domain/canonical-json.ts';
import type { Timing } from '../limits.ts';
import { withinTime } from './within-time.ts';
import type { Variables } from './expression.ts';
import { type Budget, jsonOf, MappingError, newBudget } from './json-of.ts';
import { expressionsOf, type Mapping, type Parts, type Template } from './mapping.ts';

/** The default type of a mapping's subject. @see COAZ-SU-07 */
export const SUBJECT_TYPE = 'identity';

interface Resolving extends Variables {
  /** The token's own identity: the default id of the subject. */
  readonly identity: string;
}

export type SlowMappings = ReturnType<typeof createSlowMappings>;

/** Bounds the time that mappings take. */
export interface MappingTime extends Timing {
  /** One for the whole process. */
  readonly slow: SlowMappings;
}

/**
 * The evaluation requests of a mapping for one message, one for each decision. Throws a `MappingError` when an expression fails or
 * takes too long, when a value is not JSON, and when a required member is missing.
 * @see COAZ, Expression Contract (COAZ-FW-09 to 12)
 */
export function resolveMapping(
  mapping: Mapping,
  resolving: Resolving,
  { slow, clock, limits }: MappingTime,
): readonly [EvaluationRequest, ...EvaluationRequest[]] {
  const resolveNow = () => resolved(mapping, resolving);
  // Only expressions whose cost grows with the message are timed: on a busy machine any other may take long, too.
  if (!expressionsOf(mapping).some(({ expression }) => expression.isCostly)) return resolveNow();
  const begun = clock.monotonicMs();
  if (slow.isRefused(mapping, begun))
    throw new MappingError('the mapping took too long lately; repeat the request later');
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
  const [first, ...others] = mapping.evaluations;
  if (first === undefined) throw new MappingError('the mapping has no evaluation');
  const subject = subjectOf(mapping.shared.subject ?? first.subject, resolving, budget);
  const shared = resolveParts(mapping.shared, resolving, budget);
  const requestOf = (parts: Parts) => ({
    subject,
    ...entitiesOf({ ...shared, ...resolveParts(parts, resolving, budget) }),
  });
  return [requestOf(first), ...others.map(requestOf)];
}

/** Without the subject, which all evaluations share. */
type Resolved = { readonly [part in Exclude<keyof Parts, 'subject'>]?: Json | undefined };

/** Absent parts are left out, so that the shared ones apply. */
function resolveParts({ subject: _subject, ...parts }: Parts, variables: Variables, budget: Budget): Resolved {
  return Object.fromEntries(
    Object.entries(parts).flatMap(([part, template]) => {
      const value = resolve(template, variables, budget);
      return value === undefined || value === null ? [] : [[part, value] as const];
    }),
  );
}

/** `undefined` means absent: the list or map around it omits it (COAZ-FW-09). */
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
    // CEL's error may quote the message or the token, so ours names only the place.
    throw new MappingError(`${at} cannot be evaluated for this message`);
  }
  return jsonOf(value, at, budget);
}

/** Fills in the type and the id that a mapping omits. A declared one has to resolve (COAZ-FW-12, COAZ-SU-06, COAZ-SU-07). */
function subjectOf(template: Template | undefined, resolving: Resolving, budget: Budget): Subject {
  const defaults = { type: SUBJECT_TYPE, id: resolving.identity };
  if (template === undefined) return defaults;
  const declared = resolve(template, resolving, budget);
  const names = template.kind === 'map' ? template.members.map(([name]) => name) : Object.keys(defaults);
  return {
    type: names.includes('type') ? textOf(declared, 'subject', 'type') : defaults.type,
    id: names.includes('id') ? textOf(declared, 'subject', 'id') : defaults.id,
    ...propertiesOf(declared, 'subject'),
  };
}

function entitiesOf({ action, resource, context }: Resolved): Omit<EvaluationRequest, 'subject'> {
  return {
    action: { name: textOf(action, 'action', 'name'), ...propertiesOf(action, 'action') },
    resource: {
      type: textOf(resource, 'resource', 'type'),
      id: textOf(resource, 'resource', 'id'),
      ...propertiesOf(resource, 'resource'),
    },
    context: context === undefined ? {} : objectAt(context, 'context'),
  };
}

function textOf(entity: Json | undefined, part: string, member: string): string {
  const value = objectAt(entity, part)[member];
  if (typeof value === 'string' && value !== '') return value;
  throw new MappingError(`${part}.${member} does not resolve to a non-empty text`);
}

function propertiesOf(entity: Json | undefined, part: string): { readonly properties?: JsonObject } {
  const { properties } = objectAt(entity, part);
  if (properties === undefined || properties === null) return {};
  return { properties: objectAt(properties, `${part}.properties`) };
}

function objectAt(value: Json | undefined, part: string): JsonObject {
  if (value !== undefined && isObject(value)) return value;
  throw new MappingError(`${part} does not resolve to an object`);
}

/** A mapping that takes less than this part of the limit is not slow. */
const SLOW = 1 / 10;
/** The part of all time that slow mappings may take together. */
const SHARE = 1 / 20;
/** The part of the limit that may be exceeded before mappings are refused, so that one slow run on a busy machine has no effect. */
const CREDIT = 2 / 5;

/**
 * Counts how long slow mappings block the process, which serves no other request meanwhile. All mappings that were ever slow share
 * one small part of the time. Mappings that were never slow are not affected.
 *
 * @param limitMs The time limit of one mapping.
 */
export function createSlowMappings(limitMs: number) {
  const slow = new WeakSet();
  let owedMs = 0;
  let countedMs = 0;
  const owedAt = (nowMs: number) => Math.max(0, owedMs - Math.max(0, nowMs - countedMs) * SHARE);
  return {
    /** Whether this mapping is refused, because slow mappings used up their part. `nowMs` is monotonic. */
    isRefused: (mapping: object, nowMs: number): boolean => slow.has(mapping) && owedAt(nowMs) > limitMs * CREDIT,
    took(mapping: object, ms: number, nowMs: number): void {
      if (ms < limitMs * SLOW) return;
      slow.add(mapping);
      owedMs = owedAt(nowMs) + ms;
      countedMs = nowMs;
    },
  };
}
