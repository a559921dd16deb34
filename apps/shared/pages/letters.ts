// cspell:disable -- characters one by one
/**
 * Characters beyond ASCII that a page shows without their code points: letters and signs of European languages that every font has (most
 * of WGL4), and of which no two look alike. Fonts may lack all others, and draw two missing characters as the same box.
 */
const LATIN_LETTERS = String.raw`\u00c0-\u00cf\u00d1-\u00d6\u00d8-\u00dd\u00df-\u0113\u0116-\u012b\u012e-\u0130\u0134-\u0137\u0139-\u013e\u0141-\u0148\u014a-\u0161\u0164-\u017e\u01a0\u01a1\u01af\u01b0\u0218-\u021b\u1ea0-\u1ef9`;
const GREEK = String.raw`\u0386\u0388-\u038a\u038c\u038e-\u03a1\u03a3-\u03ce`;
const CYRILLIC = String.raw`\u0400-\u045f\u0490\u0491`;
const SIGNS = '¡¢£¥§©«®°±²³µ¶»¼½¾¿×÷–—‘’“”„†‡•…‰€™←↑→↓≠≤≥≈√';
const COMMON = new RegExp(`^[${LATIN_LETTERS}${GREEK}${CYRILLIC}${SIGNS}]*$`, 'u');

/**
 * Everyday signs and letters that look like ASCII, or like one another. A quiet underline tells them apart, so that prose stays readable.
 */
const EVERYDAY = /^[¡×–‘’“”…¼½¾ÆæŒœÞþȘș]$/u;
// cspell:enable

/** Whether every font has all characters of a text. */
export const isCommon = (text: string): boolean => COMMON.test(text);
export const isEveryday = (character: string): boolean => EVERYDAY.test(character);

/** The name of a script, and a pattern of its letters. */
export interface Script {
  readonly name: string;
  readonly letter: RegExp;
}

const script = (name: string): Script => ({ name, letter: new RegExp(`\\p{Script=${name}}`, 'u') });

/**
 * Scripts of today (UAX 31, table 5), which a page names, and scripts whose letters look like Latin ones. A page calls any other script
 * uncommon.
 */
const SCRIPTS = [
  ...['Arabic', 'Armenian', 'Bengali', 'Cherokee', 'Coptic', 'Cyrillic', 'Devanagari', 'Ethiopic', 'Georgian'],
  ...['Greek', 'Gujarati', 'Gurmukhi', 'Hebrew', 'Kannada', 'Khmer', 'Lao', 'Lisu', 'Malayalam', 'Myanmar'],
  ...['Oriya', 'Sinhala', 'Syriac', 'Tamil', 'Telugu', 'Thaana', 'Thai', 'Tibetan', 'Latin'],
].map(script);

/** Chinese, Japanese and Korean signs, which one text mixes with each other and with Latin letters. */
export const CJK = String.raw`[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}\u30fc]`;

const NAMED = ['Common', 'Inherited', ...SCRIPTS.map(({ name }) => name)].map((name) => `\\p{Script=${name}}`);
const UNCOMMON = { name: 'an uncommon script', letter: new RegExp(`(?!${NAMED.join('|')})\\p{L}`, 'u') };
/** The script of each letter so far: at most as many as Unicode has letters. */
const known = new Map<string, Script | undefined>();

function scriptOf(character: string): Script | undefined {
  if (!known.has(character)) {
    const found = [...SCRIPTS, UNCOMMON].find(({ letter }) => letter.test(character));
    known.set(character, found);
  }
  return known.get(character);
}

/** The scripts of a word's letters. Digits, and marks of all scripts, have none. */
export const scriptsOf = (word: string): ReadonlySet<Script> =>
  new Set(Array.from(word, scriptOf).filter((found) => found !== undefined));
