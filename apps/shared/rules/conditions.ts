import type { Json } from '../../../workflows/domain/canonical-json.ts';
import { addressForm } from '../../../workflows/domain/spellings/address.ts';
import { withoutCase } from '../../../workflows/domain/spellings/letters.ts';
import { pathForm } from '../../../workflows/domain/spellings/path.ts';
import { isPlain } from '../../../workflows/domain/spellings/plain.ts';
import {
  type AddressCondition,
  type ArgumentConditions,
  type CombinedCondition,
  type Condition,
  isCombined,
  isOfAddress,
  isOfValue,
  type Lettered,
  type TextCondition,
  type ValueCondition,
} from './rules.ts';
import { hasLoneSurrogate, memberAt } from './values.ts';
import { readUrl } from './url-reader.ts';

/**
 * Whether arguments meet every condition, as for an `allow` rule: what cannot be tested meets none. The policy decision point compiles the
 * same conditions to Cedar, and a test compares the two.
 */
export const meetsConditions = (given: Json, where: readonly ArgumentConditions[]): boolean =>
  where.every(({ path, conditions }) => {
    const value = memberAt(given, path);
    return allTrue(conditions.map((condition) => truthOf(value, condition))) === true;
  });

/** Undefined if the condition cannot be tested. */
type Truth = boolean | undefined;

function truthOf(value: Json, condition: Condition): Truth {
  if (isCombined(condition)) return truthOfAll(value, condition);
  if (isOfValue(condition)) return truthOfValue(value, condition);
  if (typeof value !== 'string' || !isWhole(value)) return undefined;
  return isOfAddress(condition) ? truthOfAddress(value, condition) : truthOfText(value, condition);
}

function truthOfAll(value: Json, condition: CombinedCondition): Truth {
  const all = (conditions: readonly Condition[]) => allTrue(conditions.map((one) => truthOf(value, one)));
  switch (condition.kind) {
    case 'not':
      return negated(all(condition.of));
    case 'anyOf':
      return anyTrue(condition.of.map(all));
  }
}

function truthOfValue(value: Json, condition: ValueCondition): Truth {
  switch (condition.kind) {
    case 'present':
      return (value !== null) === condition.is;
    case 'oneOf': {
      const isTyped = condition.values.some((one) => typeof one === typeof value);
      return isTyped && isWhole(value) ? condition.values.some((one) => one === value) : undefined;
    }
    // Every number that a condition can name is a double, and doubles are in the order of their shortest texts.
    case 'over':
      return typeof value === 'number' ? value > condition.bound : undefined;
    case 'under':
      return typeof value === 'number' ? value < condition.bound : undefined;
  }
}

function truthOfText(text: string, condition: TextCondition): Truth {
  switch (condition.kind) {
    case 'like':
      return isPlain(text, readUrl) ? fits(text, [condition.pattern], condition) : undefined;
    case 'path.under':
      return anyTrue(condition.folders.map((folder) => isUnder(text, folder, condition)));
    case 'path.name': {
      const { name } = pathForm(text);
      return name === undefined ? undefined : fits(name, condition.patterns, condition);
    }
    case 'path.part': {
      const { whole } = pathForm(text);
      return whole?.isPortable === true ? fits(whole.text, partPatterns(condition.names), condition) : undefined;
    }
  }
}

function truthOfAddress(text: string, condition: AddressCondition): Truth {
  const { scheme, host, port, path } = addressForm(text, readUrl) ?? {};
  switch (condition.kind) {
    case 'url.scheme':
      return scheme === undefined ? undefined : condition.schemes.includes(scheme);
    case 'url.host':
      return host === undefined ? undefined : condition.patterns.some((pattern) => isLike(host, pattern));
    case 'url.port':
      return port === undefined ? undefined : condition.ports.includes(port);
    case 'url.under':
      return path === undefined ? undefined : fits(path, condition.paths.map(below), condition);
  }
}

function isUnder(text: string, folder: { kind: string; text: string }, lettered: Lettered): Truth {
  const { whole } = pathForm(text);
  return whole?.kind === folder.kind ? fits(whole.text, [below(folder.text)], lettered) : undefined;
}

/** Patterns of the forms of all paths that have one of these parts, which stands at the beginning or behind a slash. */
export const partPatterns = (names: readonly string[]): string[] =>
  names.flatMap((name) => [`${name}/*`, `*/${name}/*`]);

const negated = (truth: Truth): Truth => (truth === undefined ? undefined : !truth);

/** Whether several things are all true. False if one is false, even if others cannot be tested. */
const allTrue = (all: readonly Truth[]): Truth => negated(anyTrue(all.map(negated)));

/** What of several things is true: one that is true, unless what cannot be tested could be. */
const anyTrue = (all: readonly Truth[]): Truth => all.includes(true) || (all.includes(undefined) ? undefined : false);

function fits(text: string, patterns: readonly string[], { ignoreCase }: Lettered): Truth {
  if (ignoreCase !== true && patterns.some((pattern) => isLike(text, pattern))) return true;
  if (ignoreCase === false) return false;
  const isAlike = patterns.some((pattern) => isLike(withoutCase(text), withoutCase(pattern)));
  return isAlike && ignoreCase === undefined ? undefined : isAlike;
}

const isWhole = (value: Json): boolean => typeof value !== 'string' || !hasLoneSurrogate(value);

/** A star stands for any characters, `\*` for a star, and everything else for itself. */
function isLike(text: string, pattern: string): boolean {
  const [first = '', ...rest] = literalsOf(pattern);
  const last = rest.pop();
  if (last === undefined) return text === first;
  if (!text.startsWith(first)) return false;
  let at = first.length;
  for (const literal of rest) {
    const found = text.indexOf(literal, at);
    if (found === -1) return false;
    at = found + literal.length;
  }
  return text.length - at >= last.length && text.endsWith(last);
}

/** The texts between the stars of a pattern, one more than there are stars. */
function literalsOf(pattern: string): string[] {
  const literals = [''];
  for (const part of pattern.split(/(\\\*|\*)/)) {
    if (part === '*') literals.push('');
    else literals.push(`${literals.pop() ?? ''}${part === '\\*' ? '*' : part}`);
  }
  return literals;
}

/**
 * The pattern of all texts with this beginning. Undefined if no pattern says that: a backslash before the star would make it a literal one.
 */
export const beginsWith = (beginning: string): string | undefined =>
  beginning.endsWith('\\') ? undefined : below(beginning);

/** The pattern of a folder, in a form with a slash at its end, and of all that is in it. */
export const below = (folder: string): string => `${folder.replaceAll('*', '\\*')}*`;
