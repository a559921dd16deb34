import type { AccessRequest } from '../../../workflows/domain/access-request/access-request.ts';
import { isWithin, type Leaf } from '../../../workflows/domain/access-request/outline.ts';
import { canonicalJson, type Json, ownProperty } from '../../../workflows/domain/canonical-json.ts';
import { argumentsIn } from '../grants/scope.ts';
import { type Concealment, concealmentIn } from '../shown-whole.ts';
import { writtenJson, writtenName, writtenText } from './written.ts';

/** Characters of one value. */
const LONGEST_VALUE = 300;
/** Arguments that a message shows. Slack takes 50 blocks. */
const MOST_ARGUMENTS = 30;
/** Arguments that a message names although it does not show them, and characters of such a name. */
const MOST_NAMES = 8;
const LONGEST_NAME = 60;

/** What a message shows of the arguments of a call. */
export interface ShownCall {
  /** Arguments with their values. */
  readonly facts: readonly (readonly [string, string])[];
  /** What the message leaves out, in words. Undefined: nothing. */
  readonly leftOut?: string;
  /** Whether the message shows all arguments whole, and none misleads: only then may a person approve in it. */
  readonly isWhole: boolean;
}

/** @param shownArguments Names of the arguments that messages show. */
export function shownCall(
  { context, outline }: Pick<AccessRequest, 'context' | 'outline'>,
  shownArguments: readonly string[],
): ShownCall {
  const all = argumentsIn(context) ?? {};
  const wanted = shownArguments.filter((name) => ownProperty(all, name) !== undefined).slice(0, MOST_ARGUMENTS);
  const values = wanted.map((name) => [name, writtenJson(canonicalJson(all[name] as Json))] as const);
  const whole = values.filter(([, value]) => value.length <= LONGEST_VALUE).map(([name]) => name);
  const hasNone = (leaf: Leaf) => leaf.path === '' && leaf.json === '{}';
  const isShown = (leaf: Leaf) => hasNone(leaf) || whole.some((name) => isWithin(leaf, name));
  const concealment = concealmentIn(outline, isShown);
  const cut = wanted.filter((name) => !whole.includes(name));
  const hidden = Object.keys(all).filter((name) => !wanted.includes(name));
  const leftOut = inWords(concealment, { hidden, cut, hasShown: wanted.length > 0 });
  return {
    facts: values.map(([name, value]) => [writtenText(name), cutText(value, LONGEST_VALUE)] as const),
    ...(leftOut !== '' && { leftOut }),
    isWhole: concealment === undefined,
  };
}

/** At most so many characters of a text, with an ellipsis if some are missing. */
export const cutText = (text: string, longest: number): string =>
  text.length <= longest ? text : `${text.slice(0, longest).replace(/\\u?[\da-f]{0,3}$|[\ud800-\udbff]$/, '')}…`;

interface LeftOut {
  /** Names of arguments of which the message shows nothing. */
  readonly hidden: readonly string[];
  /** Names of arguments of which it shows the start. */
  readonly cut: readonly string[];
  readonly hasShown: boolean;
}

function inWords(concealment: Concealment | undefined, { hidden, cut, hasShown }: LeftOut): string {
  const more = hasShown ? ' more' : '';
  const said = [
    ...(hidden.length === 0 ? [] : [`${are(hidden, more)} not shown: ${listed(hidden)}.`]),
    ...(cut.length === 0 ? [] : [`${are(cut)} not shown to the end: ${listed(cut)}.`]),
  ];
  if (concealment === 'misleads') said.push('An argument has characters that can mislead.');
  if (concealment === 'too_long') said.push('The call has more values than a message can show.');
  return said.join(' ');
}

const are = ({ length }: readonly string[], more = '') =>
  length === 1 ? `1${more} argument is` : `${length}${more} arguments are`;

function listed(names: readonly string[]): string {
  const named = names.slice(0, MOST_NAMES).map((name) => cutText(writtenName(name), LONGEST_NAME));
  const rest = names.length - named.length;
  return [...named, ...(rest > 0 ? [`and ${rest} others`] : [])].join(', ');
}
