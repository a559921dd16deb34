/** Why a parser would read a JSON text as something else than it says, or not at all. `bodyFaultOf` knows these names. */
export type Unfaithful =
  | 'body.marked'
  | 'body.member_twice'
  | 'body.member_lost'
  | 'body.number_inexact'
  | 'body.character_broken'
  | 'body.too_deep'
  | 'body.too_many';

/** Levels of objects and lists in one another. A recursive function runs out of stack at far deeper ones. */
export const MAX_LEVELS = 200;

/**
 * Members of objects and elements of lists in one text. The work for a text grows with them and not with its bytes, and blocks
 * the process: a third of a million of them cost seconds.
 */
export const MAX_MEMBERS = {
  /** From any sender: calls, votes, callbacks, signed messages. */
  message: 10_000,
  /** Between services: a batch of evaluation requests, each with the arguments of a call; their answers. */
  service: 50_000,
} as const;

/**
 * The next token of a JSON text: a string and whether it names a member, a number, a bracket, or a word. A string that is never
 * closed goes to the end of the text: otherwise each quote in it would be tried anew, and a text of quotes would take quadratic
 * time.
 */
const TOKEN = /"((?:[^"\\]|\\.)*)(?:"(\s*:)?|\\?$)|-?\d[\d.eE+-]*|[{}[\]]|[a-z]+/gs;

/**
 * An approval is for the call that was asked for only if reading it loses nothing. `JSON.parse` silently keeps the last of two
 * members with one name, and the nearest double of a whole number that is too long (RFC 7493 sections 2.1 to 2.3 forbid both, and
 * half a character). A member called `__proto__` is lost as soon as its object is copied. The parser refuses a text that is not
 * JSON.
 *
 * @param maxMembers Of `MAX_MEMBERS`.
 */
export function unfaithful(text: string, maxMembers: number = MAX_MEMBERS.message): Unfaithful | undefined {
  const [first] = faultsIn(text, maxMembers);
  return first;
}

const SAYS_TWO_THINGS: readonly Unfaithful[] = ['body.member_twice', 'body.too_deep', 'body.too_many'];

/**
 * Whether a JSON text of another service cannot be used: an object in it has two members of one name, of which each reader takes
 * another, or it is too deep or too long to be looked through.
 */
export function isAmbiguous(text: string): boolean {
  for (const fault of faultsIn(text, MAX_MEMBERS.service)) if (SAYS_TWO_THINGS.includes(fault)) return true;
  return false;
}

/** Every fault, in the order of the text, up to a limit or the end. */
function* faultsIn(text: string, maxMembers: number): Generator<Unfaithful, void> {
  // Parsers differ in whether it is a part of the text. @see RFC 8259, section 8.1
  if (text.startsWith('\uFEFF')) yield 'body.marked';
  /** The names in each object that is open, and nothing for a list. */
  const levels: (Set<string> | undefined)[] = [];
  let [names, values] = [0, 0];
  for (const [token, content, colon] of text.matchAll(TOKEN)) {
    if (token === '}' || token === ']') {
      if (levels.pop() === undefined && levels.length === 0 && values === 0) return;
      continue;
    }
    if (colon === undefined) values += 1;
    else names += 1;
    // The outermost value is in no other.
    if (Math.max(names, values - 1) > maxMembers) {
      yield 'body.too_many';
      return;
    }
    if (token === '{' || token === '[') {
      levels.push(token === '{' ? new Set() : undefined);
      if (levels.length <= MAX_LEVELS) continue;
      yield 'body.too_deep';
      return;
    } else if (content !== undefined) yield* faultsOfString(content, colon === undefined ? undefined : levels.at(-1));
    else if (!isKept(token)) yield 'body.number_inexact';
  }
}

/** @param members Of the object in which the string names one. */
function* faultsOfString(content: string, members: Set<string> | undefined): Generator<Unfaithful, void> {
  const isEscaped = content.includes('\\');
  if (members === undefined && !isEscaped) return;
  const said = isEscaped ? decoded(content) : content;
  if (said === undefined) return;
  // A surrogate without the other one: in UTF-8 there is no such thing.
  if (isEscaped && !said.isWellFormed()) yield 'body.character_broken';
  if (members === undefined) return;
  if (said === '__proto__') yield 'body.member_lost';
  if (members.has(said)) yield 'body.member_twice';
  members.add(said);
}

/** Escapes may hide that two names are one. */
function decoded(content: string): string | undefined {
  try {
    return JSON.parse(`"${content}"`) as string;
  } catch {
    return undefined;
  }
}

/** Every reader rounds fractions alike. Whole numbers are amounts and names, and have to stay exact. */
function isKept(literal: string): boolean {
  const value = Number(literal);
  if (Math.abs(value) === Infinity) return false;
  // The parser refuses a literal that is no number.
  if (Number.isNaN(value) || Math.abs(value) <= Number.MAX_SAFE_INTEGER) return true;
  return digitsOf(literal) === digitsOf(String(value));
}

/**
 * The digits that tell numbers of any size apart. The pattern tries a run of zeros only from its start: a number of many zeros
 * with a digit behind them would take quadratic time.
 */
const digitsOf = (literal: string): string =>
  literal
    .replace(/[eE].*$/, '')
    .replace(/[-.]/g, '')
    .replace(/^0+|(?<!0)0+$/g, '');

/** @see RFC 6838, section 4.2.8 */
const JSON_TYPE = /^application\/([\w.+-]+\+)?json\s*(;|$)/i;

/**
 * The JSON that another service answered. Throws where the answer is not JSON, and where its `Content-Type` is not: a text, a page or
 * a file that a server shows may come from someone else.
 */
export function jsonOf({ type, text }: { readonly type: string | undefined; readonly text: string }): unknown {
  if (!JSON_TYPE.test(type ?? '')) throw new SyntaxError('the answer does not call itself JSON');
  return parseAnswer(text);
}

/** The same of a text with any `Content-Type`. */
export function parseAnswer(text: string): unknown {
  if (isAmbiguous(text)) throw new SyntaxError('the answer has a member twice, too many of them, or too many levels');
  return JSON.parse(text);
}
