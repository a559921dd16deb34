/**
 * Letters of which no reader and no system agree with all others: control characters, half characters, and characters that some file
 * systems leave out of names (Default_Ignorable_Code_Point).
 */
const UNCLEAR = /[\p{Cc}\p{Surrogate}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}]/u;

/** Whether the text is in normal form C. Some file systems and programs take the texts of one normal form for the same. */
export const isNormalized = (text: string): boolean => text === text.normalize('NFC');

/** Whether the text has characters that name something else for some systems. */
export const hasUnclearLetters = (text: string): boolean => UNCLEAR.test(text) || !isNormalized(text);

/**
 * The text as a system compares it that ignores the case of letters. It takes for the same what any such system does: `ß` and `ss`, `ſ`
 * and `s`.
 */
export const withoutCase = (text: string): string =>
  Array.from(text, (letter) => letter.toUpperCase().toLowerCase())
    .join('')
    .normalize('NFC');
