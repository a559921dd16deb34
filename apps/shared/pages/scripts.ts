/** What a script is called, and how its letters are found. */
export interface Script {
  readonly name: string;
  readonly letter: RegExp;
}

/**
 * Scripts that people write in today (UAX 31, table 5), by which a page says what a word is written in, and those of
 * other letters that look like Latin ones. Of a script that is not here a page says that it is uncommon.
 */
const SCRIPTS = [
  ...['Arabic', 'Armenian', 'Bengali', 'Cherokee', 'Coptic', 'Cyrillic', 'Devanagari', 'Ethiopic', 'Georgian'],
  ...['Greek', 'Gujarati', 'Gurmukhi', 'Hebrew', 'Kannada', 'Khmer', 'Lao', 'Lisu', 'Malayalam', 'Myanmar'],
  ...['Oriya', 'Sinhala', 'Syriac', 'Tamil', 'Telugu', 'Thaana', 'Thai', 'Tibetan'],
].map((name) => ({ name, letter: new RegExp(`\\p{Script=${name}}`, 'u') }));

/** Chinese, Japanese and Korean signs, which one text mixes with each other and with Latin letters. */
export const CJK = String.raw`[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}\u30fc]`;

const LATIN = /\p{Script=Latin}/u;
const NAMED = ['Common', 'Inherited', 'Latin', ...SCRIPTS.map(({ name }) => name)];
const OTHER = new RegExp(`(?!${NAMED.map((name) => `\\p{Script=${name}}`).join('|')})\\p{L}`, 'u');

const UNCOMMON: Script = { name: 'an uncommon script', letter: OTHER };

const LETTERS: readonly Script[] = [...SCRIPTS, { name: 'Latin', letter: LATIN }, UNCOMMON];
/** The script of each letter that was asked about. There are no more than Unicode has. */
const known = new Map<string, Script | undefined>();

function scriptOf(character: string): Script | undefined {
  if (!known.has(character))
    known.set(
      character,
      LETTERS.find(({ letter }) => letter.test(character)),
    );
  return known.get(character);
}

/** The scripts of a word's letters. Digits, and marks that every script uses, are of none. */
export function scriptsOf(word: string): ReadonlySet<Script> {
  const scripts = new Set<Script>();
  for (const character of word) {
    const script = scriptOf(character);
    if (script !== undefined) scripts.add(script);
  }
  return scripts;
}
