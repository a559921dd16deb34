/** Controls, formatting and bidirectional marks, separators, what fonts leave out, and halves of characters. */
const HIDDEN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]+/gu;
/** The same without the line feed and the tab, which people write. */
const UNWRITABLE = /(?![\n\t])[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;
/** What a client could make a link of. */
const ADDRESS = /:\/\/|\b(www\.|mailto:|javascript:|data:)/i;
/** Texts in which the words stand apart, in lower case, without signs and digits. */
const SECRET =
  /\b(\w*pass ?(word|wort|wd|phrase|code)\w*|pwd|\w*secrets?|\w*tokens?|\w*credentials?|(api|access|private) ?keys?|card ?numbers?|credit ?cards?|cv[vc]|pins?|otps?)\b/;

/**
 * Text of somebody else as it may stand in a form: on one line, without what does not show or turns text around, and cut to
 * `maxLength` characters. `undefined` when nothing is left of it, or when it names an address: forms have no links.
 * @see MRTR-047, PRJ-39
 */
export function shownText(text: string, maxLength: number): string | undefined {
  const line = text.replace(HIDDEN, ' ').replace(/ {2,}/g, ' ').trim();
  const cleaned = [...line].slice(0, maxLength).join('').trim();
  return cleaned === '' || ADDRESS.test(cleaned) ? undefined : cleaned;
}

/** What somebody wrote into a form, without what does not show; lines and tabs stay. @see PRJ-39 */
export function writtenText(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(UNWRITABLE, '');
}

/** Whether a name or a text speaks of what no form may ask for: passwords, keys, tokens, data of payment cards. @see MRTR-040 */
export function speaksOfSecret(text: string): boolean {
  const words = text
    .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
    .replace(/[^\p{L}]+/gu, ' ');
  return SECRET.test(words.toLowerCase());
}
