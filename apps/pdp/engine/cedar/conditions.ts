import type { PolicyJson, TypeAndId } from '@cedar-policy/cedar-wasm/nodejs';
import { isObject } from '../../../../workflows/domain/canonical-json.ts';
import { HOST_MEMBERS } from './facts.ts';
import { APPROVAL_MEMBER } from './schema.ts';

/** What is known about a request that has not been made. Everything else could have any value. */
export interface KnownOfRequest {
  /** Whether an approval came with the request, and its template. `any`: nothing is known about it. */
  readonly approval: 'any' | 'none' | { readonly template: string | symbol };
  /** What is called. Default: nothing is known about it. */
  readonly resource?: { readonly type: string; readonly id: string | symbol };
}

/** A template, or another text, that no policy names. */
export const ANOTHER = Symbol('another');

/** The values that an expression could have: those of this set, or any. The set is empty if the evaluation always fails. */
type Possible = ReadonlySet<unknown> | 'any';

const CONTEXT = Symbol('context');
const APPROVAL = Symbol('approval');
const RESOURCE = Symbol('resource');
const CALL = Symbol('call');
const BOOLEANS: Possible = new Set([true, false]);
const FAILS: Possible = new Set();
const only = (value: unknown): Possible => new Set([value]);
const may = (possible: Possible, value: boolean) => possible === 'any' || possible.has(value);
const join = (all: readonly Possible[]): Possible =>
  all.includes('any') ? 'any' : new Set(all.flatMap((one) => [...(one as ReadonlySet<unknown>)]));

/**
 * Whether the conditions of a policy could be true for a request about which no more is known. Never `false` if they can be
 * true. May be `true` although two parts exclude each other.
 */
export const couldApply = (conditions: PolicyJson['conditions'], known: KnownOfRequest): boolean =>
  conditions.every(({ kind, body }) => may(valuesOf(body, known), kind === 'when'));

/** Whether they could be false or fail. Never `false` if they can. With `couldApply` it says whether they tell two requests apart. */
export const couldNotApply = (conditions: PolicyJson['conditions'], known: KnownOfRequest): boolean =>
  conditions.some(({ kind, body }) => {
    const possible = valuesOf(body, known);
    return isNothing(possible) || may(possible, kind !== 'when');
  });

type Operands = Readonly<Record<string, unknown>>;

const OPERATORS: Readonly<Record<string, (operands: Operands, known: KnownOfRequest) => Possible>> = {
  '!': ({ arg }, known) => negated(valuesOf(arg, known)),
  '&&': ({ left, right }, known) => shortened(valuesOf(left, known), false, () => valuesOf(right, known)),
  '||': ({ left, right }, known) => shortened(valuesOf(left, known), true, () => valuesOf(right, known)),
  'if-then-else': ({ if: condition, then, else: otherwise }, known) => {
    const decides = valuesOf(condition, known);
    const branches = [...(may(decides, true) ? [then] : []), ...(may(decides, false) ? [otherwise] : [])];
    return join(branches.map((branch) => valuesOf(branch, known)));
  },
  '.': ({ left, attr }, known) => each(valuesOf(left, known), (value) => attributeOf(value, attr, known)),
  has: ({ left, attr }, known) => hasAll(valuesOf(left, known), [attr].flat(), known),
  '==': ({ left, right }, known) => compared(valuesOf(left, known), valuesOf(right, known)),
  '!=': ({ left, right }, known) => negated(compared(valuesOf(left, known), valuesOf(right, known))),
  contains: ({ left, right }, known) => contained(left, valuesOf(right, known), known),
  like: ({ left, pattern }, known) => each(valuesOf(left, known), (value) => matched(value, pattern as Pattern)),
};

function valuesOf(expression: unknown, known: KnownOfRequest): Possible {
  if (!isObject(expression)) return 'any';
  const [[operator, operands] = ['', undefined]] = Object.entries(expression);
  if (operator === 'Var') return variable(operands, known);
  if (operator === 'Value') return constant(operands);
  if (isObject(operands) && Object.hasOwn(OPERATORS, operator)) return OPERATORS[operator]?.(operands, known) ?? 'any';
  // Every other operator fails if one of its operands does. No more is known about it.
  const parts = isObject(operands) || Array.isArray(operands) ? Object.values(operands) : [];
  return parts.some((part) => isObject(part) && isNothing(valuesOf(part, known))) ? FAILS : 'any';
}

const isNothing = (possible: Possible) => possible !== 'any' && possible.size === 0;

function variable(name: unknown, { resource }: KnownOfRequest): Possible {
  if (name === 'context') return only(CONTEXT);
  return name === 'resource' && resource !== undefined ? only(RESOURCE) : 'any';
}

/** Nothing is known about an entity that a policy names. */
const constant = (value: unknown): Possible => (typeof value === 'object' ? 'any' : only(value));

const negated = (possible: Possible): Possible =>
  new Set([...(may(possible, false) ? [true] : []), ...(may(possible, true) ? [false] : [])]);

/** `&&` and `||`: Cedar evaluates the right only if the left does not end them. */
const shortened = (left: Possible, end: boolean, right: () => Possible): Possible =>
  join([...(may(left, end) ? [only(end)] : []), ...(may(left, !end) ? [right()] : [])]);

const each = (possible: Possible, of: (value: unknown) => Possible): Possible =>
  possible === 'any' ? 'any' : join([...possible].map(of));

function attributeOf(value: unknown, name: unknown, { approval, resource }: KnownOfRequest): Possible {
  if (value === CONTEXT && name === 'approval' && approval !== 'any')
    return approval === 'none' ? FAILS : only(APPROVAL);
  if (value === APPROVAL && approval !== 'any' && approval !== 'none') {
    if (name === 'verified') return only(true);
    if (name === 'template') return only(approval.template);
  }
  if (value === RESOURCE && (name === 'type' || name === 'id')) return only(resource?.[name]);
  if (value === CONTEXT && name === HOST_MEMBERS.call && resource?.type === 'tool') return only(CALL);
  if (value === CALL && name === 'tool') return only(resource?.id);
  return 'any';
}

/** `context has approval.template` tests for one member after the other. */
function hasAll(left: Possible, [name, ...others]: readonly unknown[], known: KnownOfRequest): Possible {
  if (left === 'any') return BOOLEANS;
  const first = each(left, (value) => {
    const isKnown = value === CONTEXT && name === 'approval' && known.approval !== 'any';
    return isKnown ? only(known.approval !== 'none') : BOOLEANS;
  });
  if (others.length === 0) return first;
  const member = each(left, (value) => attributeOf(value, name, known));
  return shortened(first, false, () => hasAll(member, others, known));
}

function compared(left: Possible, right: Possible): Possible {
  if (isNothing(left) || isNothing(right)) return FAILS;
  if (left === 'any' || right === 'any' || [...left, ...right].some(isPart)) return BOOLEANS;
  return new Set([...left].flatMap((one) => [...right].map((other) => one === other)));
}

/** A value with parts about which nothing is known here. */
const isPart = (value: unknown) => [CONTEXT, APPROVAL, RESOURCE, CALL].some((part) => part === value);

function contained(set: unknown, item: Possible, known: KnownOfRequest): Possible {
  const elements =
    isObject(set) && Array.isArray(set['Set']) ? set['Set'].map((one) => valuesOf(one, known)) : undefined;
  const within = elements?.map((element) => compared(element, item)) ?? [BOOLEANS];
  if (isNothing(item) || within.some(isNothing)) return isNothing(item) || elements ? FAILS : BOOLEANS;
  const isIn = within.some((one) => may(one, true));
  return within.some((one) => !may(one, false)) ? only(true) : new Set(isIn ? [true, false] : [false]);
}

type Pattern = readonly ('Wildcard' | { readonly Literal: string })[];

/** A text that no policy names may match any pattern. */
function matched(value: unknown, pattern: Pattern): Possible {
  return typeof value === 'string' ? only(isLike(value, pattern)) : BOOLEANS;
}

/** Compares as Cedar does: the texts between wildcards in order, the first at the beginning and the last at the end. */
function isLike(value: string, pattern: Pattern): boolean {
  const texts = [''];
  for (const part of pattern) {
    if (part === 'Wildcard') texts.push('');
    else texts.push(`${texts.pop() ?? ''}${part.Literal}`);
  }
  const [first = '', ...between] = texts;
  const last = between.pop();
  if (last === undefined) return value === first;
  if (!value.startsWith(first)) return false;
  let at = first.length;
  for (const text of between) {
    const found = value.indexOf(text, at);
    if (found < 0) return false;
    at = found + text.length;
  }
  return value.length - last.length >= at && value.endsWith(last);
}

/** Operators that look into the entity on their left: at its attributes, its tags, or the groups it is in. */
const LOOKING: ReadonlySet<string> = new Set(['.', 'has', 'hasTag', 'getTag', 'in', 'is']);

/**
 * Entities that these conditions name themselves and look into, as `Team::"t".lead` does. Cedar needs them with each request:
 * it takes an unknown entity for one without attributes and groups, so a forbid that looks there would forbid nothing. Cedar
 * does not need an entity that is only compared.
 */
export function namedIn(conditions: unknown): readonly TypeAndId[] {
  const named: TypeAndId[] = [];
  const look = (expression: unknown, isLookedInto: boolean): void => {
    if (Array.isArray(expression)) return expression.forEach((part) => look(part, isLookedInto));
    if (!isObject(expression)) return;
    const { __entity: uid }: Operands = expression;
    if (uid !== undefined && isLookedInto) named.push(uid as TypeAndId);
    for (const [operator, operands] of Object.entries(expression)) {
      if (LOOKING.has(operator) && isObject(operands)) {
        const { left, ...others } = operands;
        look(left, true);
        look(others, isLookedInto);
      } else look(operands, isLookedInto);
    }
  };
  look(conditions, false);
  return named;
}

/** A policy with `@requestable`, as Cedar reads it. */
type RequestablePolicy = Pick<PolicyJson, 'effect' | 'conditions'> & { readonly id: string; readonly template: string };

/**
 * Why a policy does not mean what its `@requestable` says, and how to fix it. Such a permit has to need an approval: otherwise
 * it permits at once what its author wants approved. And an approval of its template has to be enough.
 */
export function approvalProblem({ id, effect, conditions, template }: RequestablePolicy): string | undefined {
  if (effect === 'forbid') return undefined;
  const named = JSON.stringify(template);
  const fix = `Add to what has to hold: ${needed(template)}. Or remove @requestable if no approval is needed.`;
  if (couldApply(conditions, { approval: 'none' }))
    return `"${id}" is @requestable(${named}) and permits without an approval. ${fix}`;
  if (!couldApply(conditions, { approval: { template } }))
    return `"${id}" is @requestable(${named}) and an approval of that template never makes it permit. ${fix}`;
  return undefined;
}

/**
 * What is usually a mistake, but permits nothing without an approval: a permit that accepts an approval of any template, and a
 * forbid that accepts none.
 */
export function approvalWarning({ id, effect, conditions, template }: RequestablePolicy): string | undefined {
  const named = JSON.stringify(template);
  if (effect === 'permit')
    return couldApply(conditions, { approval: { template: ANOTHER } })
      ? `"${id}" is @requestable(${named}) and permits with an approval of any template. Add to what has to hold: ${needed(template)}`
      : undefined;
  if (looksAtApproval(conditions)) return undefined;
  return `"${id}" is @requestable(${named}) and forbids with an approval as well. Add: unless { ${needed(template)} }`;
}

const needed = (template: string) =>
  `context has approval && context.approval.verified && context.approval.template == ${JSON.stringify(template)}`;

/** Whether an expression reads an attribute that is named `approval`, or tests for one. */
function looksAtApproval(expression: unknown): boolean {
  if (Array.isArray(expression)) return expression.some(looksAtApproval);
  if (!isObject(expression)) return false;
  const attributes = [expression['attr']].flat();
  if (attributes.includes(APPROVAL_MEMBER) || attributes.includes(HOST_MEMBERS.approved)) return true;
  return Object.values(expression).some(looksAtApproval);
}
