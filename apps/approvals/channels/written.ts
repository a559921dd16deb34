import { isAscii, skeleton } from '../../shared/pages/confusables/skeleton.ts';
import { type Piece, visiblePieces } from '../../shared/pages/visible-text.ts';

/** Chinese and Japanese signs that every device with one of them has. */
const CJK = /^[\u3001-\u3003\u3008-\u3011\u3041-\u3096\u30a1-\u30fa\u30fc\u4e00-\u9fff]$/;
/** A syllable of Korean looks like nothing but its own letters, one by one, which are escapes. */
const HANGUL = /^[\uac00-\ud7a3]$/;
const LATIN = /^\p{Script=Latin}$/u;

/**
 * A value as messages write it: JSON text of the same value, in which a text stands in quotes. A message has no marks and no code points
 * beside a word, so every character that some reader could take for another one, or miss, is an escape. Programs also make links of
 * addresses, and take runs of blanks for one. So `://` and `www.` are broken, and such blanks are escapes. Two different values are
 * written differently, also as people see them.
 *
 * @param json RFC 8785 text, or the start of one.
 */
export const writtenJson = (json: string): string =>
  visiblePieces(json, 'json')
    .map(writtenPiece)
    .join('')
    .replaceAll('://', String.raw`:\/\/`)
    .replace(/(?<=www)\./gi, String.raw`\u002e`);

/** A text as messages write it where it stands for itself, such as a title: as within the quotes of a value. */
export const writtenText = (text: string): string =>
  writtenJson(JSON.stringify(text))
    .slice(1, -1)
    .replace(/\\./g, (escape) => (escape === String.raw`\"` ? '"' : escape));

/** A name as messages write it within a sentence: in quotes, unless it is a plain word or an address. */
export const writtenName = (text: string): string => {
  const written = writtenText(text);
  return /^[\w.@+-]+$/.test(written) ? written : writtenJson(JSON.stringify(text));
};

function writtenPiece({ text, kind, isSpelledOut, script }: Piece): string {
  if (kind === 'escape') return text;
  if (kind === 'blanks' || kind === 'edge') return escaped(text);
  // A word of another script, of which every letter is of that script.
  if (kind === 'calm' && script !== undefined && isSpelledOut !== true && !/[\x20-\x7e]/.test(text)) return text;
  return Array.from(text, (one) => (isUnlikeOthers(one, kind) ? one : escaped(one))).join('');
}

function isUnlikeOthers(one: string, kind: Piece['kind']): boolean {
  if (isAscii(one)) return true;
  if (kind === 'calm' && HANGUL.test(one)) return true;
  // Plain Latin letters do not look like one another, only some like ASCII.
  if (kind === 'plain' && LATIN.test(one)) return !isAscii(skeleton(one));
  return (kind === 'plain' || CJK.test(one)) && skeleton(one).normalize('NFC') === one;
}

/** One `\uXXXX` for each UTF-16 code unit. */
const escaped = (text: string): string =>
  Array.from({ length: text.length }, (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`).join('');
