import { withoutCase } from '../../../workflows/domain/spellings/letters.ts';
import { below, partPatterns } from '../../shared/rules/conditions.ts';
import {
  type AddressCondition,
  type CombinedCondition,
  type Condition,
  isCombined,
  isOfAddress,
  isOfValue,
  type Lettered,
  type TextCondition,
  type ValueCondition,
} from '../../shared/rules/rules.ts';
import { decimalOf } from '../../shared/rules/values.ts';
import { and, anyLike, isOneOf, not, or, quoted, tested } from './cedar-text.ts';

/**
 * A condition on the argument with this key as a Cedar expression, which has a value for every request.
 *
 * @param isCautious Whether the expression is also true where the condition cannot be tested.
 * @see valuesOf, for the members of a value
 */
export function argumentMeets(key: string, condition: Condition, isCautious: boolean): string {
  const isThere = `context.values has ${quoted(key)}`;
  const value = `context.values[${quoted(key)}]`;
  const has = (...names: string[]) =>
    and([isThere, ...names.map((name, at) => `${[value, ...names.slice(0, at)].join('.')} has ${name}`)]);
  const compiled = { isThere, value, has, isCautious };
  if (isCombined(condition)) return combined(key, condition, isCautious);
  if (isOfValue(condition)) return valueMeets(condition, compiled);
  return isOfAddress(condition) ? addressMeets(condition, compiled) : textMeets(condition, compiled);
}

/** What is not certainly met is possibly not met, and the other way round. */
function combined(key: string, condition: CombinedCondition, isCautious: boolean): string {
  const all = (conditions: readonly Condition[], cautious: boolean) =>
    and(conditions.map((one) => argumentMeets(key, one, cautious)));
  switch (condition.kind) {
    case 'not':
      return not(all(condition.of, !isCautious));
    case 'anyOf':
      return or(condition.of.map((one) => all(one, isCautious)));
  }
}

interface Compiled {
  readonly isThere: string;
  readonly value: string;
  /** Whether the argument is there with this member, and the member with the next. */
  readonly has: (...names: string[]) => string;
  readonly isCautious: boolean;
}

function valueMeets(condition: ValueCondition, compiled: Compiled): string {
  const { isThere, value, has, isCautious } = compiled;
  switch (condition.kind) {
    case 'present':
      return condition.is ? isThere : not(isThere);
    case 'over': {
      const isAbove = `${value}.lower.greaterThan(${decimal(condition.bound)})`;
      const isBetween = and([`${value}.lower == ${decimal(condition.bound)}`, not(`${value}.exact`)]);
      return tested(has('lower'), or([isAbove, isBetween]), isCautious);
    }
    case 'under':
      return tested(has('lower'), `${value}.lower.lessThan(${decimal(condition.bound)})`, isCautious);
    case 'oneOf':
      return isOneOfValues(condition.values, compiled);
  }
}

function textMeets(condition: TextCondition, { value, has, isCautious }: Compiled): string {
  switch (condition.kind) {
    case 'like': {
      const { pattern, ignoreCase } = condition;
      const member = ignoreCase === true ? 'folded' : 'text';
      const test = anyLike(`${value}.${member}`, [ignoreCase === true ? withoutCase(pattern) : pattern]);
      return tested(and([has(member), `${value}.plain`]), test, isCautious);
    }
    case 'path.under':
      return or(
        condition.folders.map(({ kind, text }) => {
          const isOfKind = and([has('path'), `${value}.path.kind == ${quoted(kind)}`]);
          return tested(isOfKind, fits(`${value}.path`, [below(text)], { ...condition, isCautious }), isCautious);
        }),
      );
    case 'path.name':
      return tested(has('name'), fits(`${value}.name`, condition.patterns, { ...condition, isCautious }), isCautious);
    case 'path.part': {
      const isPortable = and([has('path'), `${value}.path.portable`]);
      const test = fits(`${value}.path`, partPatterns(condition.names), { ...condition, isCautious });
      return tested(isPortable, test, isCautious);
    }
  }
}

function addressMeets(condition: AddressCondition, { value, has, isCautious }: Compiled): string {
  switch (condition.kind) {
    case 'url.scheme':
      return tested(has('url'), isOneOf(`${value}.url.scheme`, condition.schemes), isCautious);
    case 'url.host':
      return tested(has('url', 'host'), anyLike(`${value}.url.host`, condition.patterns), isCautious);
    case 'url.port':
      return tested(has('url', 'port'), or(condition.ports.map((port) => `${value}.url.port == ${port}`)), isCautious);
    case 'url.under': {
      const test = fits(`${value}.url.path`, condition.paths.map(below), { ...condition, isCautious });
      return tested(has('url', 'path'), test, isCautious);
    }
  }
}

/** Where nothing is said about case, a text that fits but for case cannot be tested. */
function fits(
  form: string,
  patterns: readonly string[],
  { ignoreCase, isCautious }: Lettered & { isCautious: boolean },
): string {
  const isFolded = ignoreCase ?? isCautious;
  return isFolded ? anyLike(`${form}.folded`, patterns.map(withoutCase)) : anyLike(`${form}.text`, patterns);
}

function isOneOfValues(values: readonly (string | number | boolean)[], { value, has, isCautious }: Compiled): string {
  const texts = values.filter((one) => typeof one === 'string');
  const numbers = values.filter((one) => typeof one === 'number');
  const truths = values.filter((one) => typeof one === 'boolean');
  const types = [
    ...(texts.length === 0 ? [] : [{ isKnown: has('text'), test: isOneOf(`${value}.text`, texts) }]),
    ...(numbers.length === 0
      ? []
      : [
          {
            isKnown: has('lower'),
            test: and([`${value}.exact`, or(numbers.map((one) => `${value}.lower == ${decimal(one)}`))]),
          },
        ]),
    ...(truths.length === 0
      ? []
      : [{ isKnown: has('truth'), test: or(truths.map((one) => `${value}.truth == ${String(one)}`)) }]),
  ];
  const isKnown = or(types.map((type) => type.isKnown));
  const test = or(types.map((type) => and([type.isKnown, type.test])));
  return tested(isKnown, test, isCautious);
}

const decimal = (number: number) => `decimal(${quoted(decimalOf(number).lower)})`;
