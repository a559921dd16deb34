/** Why a JSON text would be read as something else than it says. Names that `bodyFaultOf` knows. */
export type Unfaithful = 'body.member_twice' | 'body.member_lost' | 'body.number_inexact' | 'body.too_deep';

/** Levels of objects and lists in one another. Whoever walks through far deeper ones by calling itself runs out of stack. */
const MAX_DEPTH = 200;

/**
 * The next thing of a JSON text that matters here: a string and whether it names a member, a number, or a bracket. A string
 * that is never closed goes to the end of the text: were it passed over, each quote in it would be tried anew, and a text of
 * quotes take quadratic time.
 */
const TOKEN = /"((?:[^"\\]|\\.)*)(?:"(\s*:)?|\\?$)|-?\d[\d.eE+-]*|[{}[\]]/gs;

/**
 * What is approved is what was asked for only if nothing is lost in reading it. `JSON.parse` keeps the last of two
 * members with one name, and the nearest double of a whole number that is too long, and says so in neither case
 * (RFC 7493 sections 2.2 and 2.3 forbid both). A member called `__proto__` is lost as soon as somebody copies its object. A text that is no JSON at all is the parser's to refuse.
 */
export function unfaithful(text: string): Unfaithful | undefined {
  const [first] = faultsIn(text);
  return first;
}

/** Whether a JSON text says two things at once: an object in it has two members of one name, and readers differ in which one counts. */
export function isAmbiguous(text: string): boolean {
  for (const fault of faultsIn(text)) if (fault === 'body.member_twice' || fault === 'body.too_deep') return true;
  return false;
}

/** Every fault, in the order of the text. Nothing is looked at below what is too deep. */
function* faultsIn(text: string): Generator<Unfaithful, void> {
  /** The names in each object that is open, and nothing for a list. */
  const levels: (Set<string> | undefined)[] = [];
  for (const [token, content, colon] of text.matchAll(TOKEN)) {
    if (token === '{' || token === '[') {
      levels.push(token === '{' ? new Set() : undefined);
      if (levels.length <= MAX_DEPTH) continue;
      yield 'body.too_deep';
      return;
    } else if (token === '}' || token === ']') levels.pop();
    else if (content === undefined) {
      if (!isKept(token)) yield 'body.number_inexact';
    } else if (colon !== undefined) {
      const name = content.includes('\\') ? decoded(content) : content;
      if (name === '__proto__') yield 'body.member_lost';
      if (!addTo(levels.at(-1), name)) yield 'body.member_twice';
    }
  }
}

/** Whether the name is new to the object. */
function addTo(members: Set<string> | undefined, name: string | undefined): boolean {
  if (members === undefined || name === undefined) return true;
  if (members.has(name)) return false;
  members.add(name);
  return true;
}

/** Escapes may hide that two names are one. */
function decoded(content: string): string | undefined {
  try {
    return JSON.parse(`"${content}"`) as string;
  } catch {
    return undefined;
  }
}

/** Fractions are rounded as everybody rounds them; whole numbers are amounts and names, and stay what they are. */
function isKept(literal: string): boolean {
  const value = Number(literal);
  if (Math.abs(value) === Infinity) return false;
  // What is no number is no JSON.
  if (Number.isNaN(value) || Math.abs(value) <= Number.MAX_SAFE_INTEGER) return true;
  return digitsOf(literal) === digitsOf(String(value));
}

/** The digits that say which number it is, whatever its size. */
const digitsOf = (literal: string): string =>
  literal
    .replace(/[eE].*$/, '')
    .replace(/[-.]/g, '')
    .replace(/^0+|0+$/g, '');
