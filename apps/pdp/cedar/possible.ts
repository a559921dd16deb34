import type { PolicyJson } from '@cedar-policy/cedar-wasm/nodejs';
import { isObject } from './projection.ts';

/** What is known of a request before there is one. Everything else could be of any value. */
export interface Known {
  /** Whether an approval came with it, and of which template. `any`: nothing is known of it. */
  readonly approval: 'any' | 'none' | { readonly template: string | symbol };
  /** What is called. Default: nothing is known of it. */
  readonly resource?: { readonly type: string; readonly id: string | symbol };
}

/** A template, or another text, that is none of those that a policy names. */
export const ANOTHER = Symbol('another');

/** The values that an expression could have: those of this set, or any. None at all where its evaluation always fails. */
type Possible = ReadonlySet<unknown> | 'any';

const CONTEXT = Symbol('context');
const APPROVAL = Symbol('approval');
const RESOURCE = Symbol('resource');
const BOOLEANS: Possible = new Set([true, false]);
const FAILS: Possible = new Set();
const only = (value: unknown): Possible => new Set([value]);
const may = (possible: Possible, value: boolean) => possible === 'any' || possible.has(value);
const booleans = (values: readonly boolean[]): Possible => new Set(values);
const join = (all: readonly Possible[]): Possible =>
  all.includes('any') ? 'any' : new Set(all.flatMap((one) => [...(one as ReadonlySet<unknown>)]));

/**
 * Whether the conditions of a policy could be true of a request of which no more is known. Never `false` where they can be true;
 * where two parts exclude each other it may be `true` all the same.
 */
export const couldApply = (conditions: PolicyJson['conditions'], known: Known): boolean =>
  conditions.every(({ kind, body }) => may(valuesOf(body, known), kind === 'when'));

/** Whether they could be false of one, or fail. Never `false` where they can be; with `couldApply` it says whether they tell two requests apart. */
export const couldNotApply = (conditions: PolicyJson['conditions'], known: Known): boolean =>
  conditions.some(({ kind, body }) => {
    const possible = valuesOf(body, known);
    return isNothing(possible) || may(possible, kind !== 'when');
  });

type Operands = Readonly<Record<string, unknown>>;

const OPERATORS: Readonly<Record<string, (operands: Operands, known: Known) => Possible>> = {
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

function valuesOf(expression: unknown, known: Known): Possible {
  if (!isObject(expression)) return 'any';
  const [[operator, operands] = ['', undefined]] = Object.entries(expression);
  if (operator === 'Var') return variable(operands, known);
  if (operator === 'Value') return constant(operands);
  if (isObject(operands) && Object.hasOwn(OPERATORS, operator)) return OPERATORS[operator]?.(operands, known) ?? 'any';
  // Of every other operator no more is known than that it fails when one of its operands does.
  const parts = isObject(operands) || Array.isArray(operands) ? Object.values(operands) : [];
  return parts.some((part) => isObject(part) && isNothing(valuesOf(part, known))) ? FAILS : 'any';
}

const isNothing = (possible: Possible) => possible !== 'any' && possible.size === 0;

function variable(name: unknown, { resource }: Known): Possible {
  if (name === 'context') return only(CONTEXT);
  return name === 'resource' && resource !== undefined ? only(RESOURCE) : 'any';
}

/** An entity is compared with others only; of which it is no more is known. */
const constant = (value: unknown): Possible => (typeof value === 'object' ? 'any' : only(value));

const negated = (possible: Possible): Possible =>
  booleans([...(may(possible, false) ? [true] : []), ...(may(possible, true) ? [false] : [])]);

/** `&&` and `||`: the right is looked at only where the left is not what ends them. */
const shortened = (left: Possible, end: boolean, right: () => Possible): Possible =>
  join([...(may(left, end) ? [only(end)] : []), ...(may(left, !end) ? [right()] : [])]);

const each = (possible: Possible, of: (value: unknown) => Possible): Possible =>
  possible === 'any' ? 'any' : join([...possible].map(of));

function attributeOf(value: unknown, name: unknown, { approval, resource }: Known): Possible {
  if (value === CONTEXT && name === 'approval' && approval !== 'any')
    return approval === 'none' ? FAILS : only(APPROVAL);
  if (value === APPROVAL && approval !== 'any' && approval !== 'none') {
    if (name === 'verified') return only(true);
    if (name === 'template') return only(approval.template);
  }
  if (value === RESOURCE && (name === 'type' || name === 'id')) return only(resource?.[name]);
  return 'any';
}

/** `context has approval.template` asks for one after the other. */
function hasAll(left: Possible, [name, ...others]: readonly unknown[], known: Known): Possible {
  if (left === 'any') return BOOLEANS;
  const first = each(left, (value) => {
    const isKnown = value === CONTEXT && name === 'approval' && known.approval !== 'any';
    return isKnown ? only(known.approval !== 'none') : BOOLEANS;
  });
  if (others.length === 0) return first;
  const inner = () =>
    hasAll(
      each(left, (value) => attributeOf(value, name, known)),
      others,
      known,
    );
  return shortened(first, false, inner);
}

function compared(left: Possible, right: Possible): Possible {
  if (isNothing(left) || isNothing(right)) return FAILS;
  if (left === 'any' || right === 'any' || [...left, ...right].some(isPart)) return BOOLEANS;
  return new Set([...left].flatMap((one) => [...right].map((other) => one === other)));
}

/** What has parts of which nothing is known here. */
const isPart = (value: unknown) => value === CONTEXT || value === APPROVAL || value === RESOURCE;

function contained(set: unknown, item: Possible, known: Known): Possible {
  const elements =
    isObject(set) && Array.isArray(set['Set']) ? set['Set'].map((one) => valuesOf(one, known)) : undefined;
  const within = elements?.map((element) => compared(element, item)) ?? [BOOLEANS];
  if (isNothing(item) || within.some(isNothing)) return isNothing(item) || elements ? FAILS : BOOLEANS;
  const isIn = within.some((one) => may(one, true));
  return within.some((one) => !may(one, false)) ? only(true) : booleans(isIn ? [true, false] : [false]);
}

type Pattern = readonly ('Wildcard' | { readonly Literal: string })[];

/** Another text than those that are named may well be like one of them. */
function matched(value: unknown, pattern: Pattern): Possible {
  return typeof value === 'string' ? only(isLike(value, pattern)) : BOOLEANS;
}

/** As Cedar compares: the texts between wildcards one after the other, the first at the beginning and the last at the end. */
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
