import { isAscii, looksLikeAscii, skeleton } from './confusables/skeleton.ts';
import { isCommon, isEveryday } from './repertoire.ts';
import { CJK, scriptsOf, type Script } from './scripts.ts';

/** A piece of foreign text: as it is, or marked so that it cannot be taken for something else. */
export interface Piece {
  readonly text: string;
  /**
   * - `plain`: what every reader takes for the same; of blanks only single ones between words;
   * - `blanks`: a run of blanks, as in indented code;
   * - `edge`: blanks that a reader does not expect: at an end, or so many that what follows is out of sight;
   * - `escape`: the escape of what would not show, or would change what is around it;
   * - `alike`: what looks like other letters or signs;
   * - `calm`: other letters and signs, which do not.
   */
  readonly kind: 'plain' | 'blanks' | 'edge' | 'escape' | 'alike' | 'calm';
  /** Whether the code points are to stand beside it: fonts may draw it as something else, or not at all. */
  readonly isSpelledOut?: true;
  /** What a person is told of it. */
  readonly says?: string;
  /** What a word is written in, where that is one script. */
  readonly script?: string;
}

/** How a text is written: as it is, or in the escapes of JSON (RFC 8785), with its quotes. */
export type Notation = 'plain' | 'json';

const LETTER = String.raw`[[\p{L}\p{M}]--[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Inherited}]]`;
/**
 * What must not reach a page as it is: controls, formatting and bidirectional marks, private and unassigned code
 * points, line and paragraph separators, every blank but the plain one, what fonts leave out or draw as nothing, a
 * combining mark beside a letter that is written without, and a third combining mark in a row.
 */
const HIDDEN =
  String.raw`[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}` +
  String.raw`|(?<!${LETTER}\p{M}?)\p{M}|(?<=\p{M}{2})\p{M}`;
/** A picture of which the characters that join its parts are a part. */
const PICTURE = String.raw`(?!\p{ASCII})\p{Extended_Pictographic}\ufe0f?(?:\u200d\p{Extended_Pictographic}\ufe0f?)*`;
/** A run of blanks, and one at the end of a text, of a line in it or of what its quotes hold. */
const BLANKS = String.raw`(?<=^"?) +| {2,}| (?=(?:"|\\n)?$)`;
const STEPS = {
  plain: new RegExp(`${BLANKS}|${PICTURE}|${HIDDEN}`, 'gv'),
  json: new RegExp(String.raw`\\(?:u[\da-f]{4}|[^u])|${BLANKS}|${PICTURE}|${HIDDEN}`, 'gv'),
};
/** How long a run of blanks within a line is that may be there to push something out of sight. */
export const LONG_RUN = 12;
/** JSON's escapes of what is written often and hides nothing. */
const ORDINARY_ESCAPE = /^\\["\\nt]$/;
const ASIAN = new RegExp(String.raw`${CJK}+(?:[\u3001-\u303f\uff01-\uff0f\uff1a-\uff20]+${CJK}*)*`, 'gu');
const WORD = new RegExp(String.raw`[[\p{L}\p{M}\p{N}_]--${CJK}]+`, 'gv');
const BEYOND_ASCII = /[^\x00-\x7f]/gu; // eslint-disable-line no-control-regex -- all that is not ASCII
const NOTHING_TO_SEE = {
  plain: /^(?! )(?:[\x21-\x7e]| (?! |$))*$/,
  json: /^"?(?! )(?:[\x21\x23-\x5b\x5d-\x7e]| (?! |"?$))*"?$/,
};

const ESCAPED = 'A character that does not show, or misleads';
const MIXED = 'Letters of different alphabets in one word';
const SPELLED_OUT = 'A sign that not every font has, with its code point';

/**
 * Foreign text in pieces that can be shown side by side: joined, and with the escapes read as JSON reads them, they
 * are the text again. Two texts whose characters differ have pieces that differ in more than the shape of a letter
 * that fonts draw alike or lack.
 */
export function visiblePieces(text: string, notation: Notation = 'plain'): Piece[] {
  if (NOTHING_TO_SEE[notation].test(text)) return plain(text);
  const made = (found: string, at: number) =>
    found.startsWith(' ') ? blanks(found, at, text, notation) : hidden(found);
  const pieces = split(text, STEPS[notation], made, (between) =>
    split(between, ASIAN, asian, (rest) =>
      split(rest, WORD, ofWord, (others) => split(others, BEYOND_ASCII, sign, plain)),
    ),
  );
  return join(calmed(join(pieces)));
}

/** The same where there can be no marks, as in the title of a window: what does not show, or misleads, as escapes. */
export const visibleTitle = (text: string): string =>
  visiblePieces(text)
    .map((piece) => (piece.kind === 'alike' ? Array.from(piece.text, escapeOf).join('') : piece.text))
    .join('');

function hidden(found: string): Piece {
  if (ORDINARY_ESCAPE.test(found)) return { text: found, kind: 'plain' };
  if (found.startsWith('\\')) return { text: found, kind: 'escape', says: ESCAPED };
  if (isCommon(found)) return { text: found, kind: 'plain' };
  if (/^\p{Extended_Pictographic}/u.test(found))
    return { text: found, kind: 'calm', isSpelledOut: true, says: SPELLED_OUT };
  return { text: escapeOf(found), kind: 'escape', says: ESCAPED };
}

/** What begins a line of a longer text is how it is set in; at every other end, blanks are unexpected. */
function blanks(found: string, at: number, text: string, notation: Notation): Piece {
  const after = text.slice(at + found.length, at + found.length + 3);
  const isAtEnd =
    notation === 'plain' ? at === 0 || after === '' : (at === 1 && text.startsWith('"')) || /^("|\\n)$/.test(after);
  const isEdge = isAtEnd || (at > 0 && found.length >= LONG_RUN);
  return isEdge ? { text: found, kind: 'edge', says: 'Blanks' } : { text: found, kind: 'blanks' };
}

const asian = (text: string): Piece => ({
  text,
  kind: 'calm',
  isSpelledOut: true,
  says: 'Chinese, Japanese or Korean',
});

/** A word in other letters than Latin ones; undefined where its characters are to be looked at one by one. */
function ofWord(text: string): Piece | undefined {
  if (isAscii(text)) return undefined;
  const [script, ...more] = scriptsOf(text);
  if (script === undefined || (script.name === 'Latin' && more.length === 0)) return undefined;
  if (more.length > 0) return { text, kind: 'alike', isSpelledOut: true, says: MIXED };
  if (looksLikeOthers(text, script))
    return {
      text,
      kind: 'alike',
      isSpelledOut: true,
      says: `${script.name} that looks like other letters`,
      script: script.name,
    };
  return calmWord(text, script.name);
}

const calmWord = (text: string, script: string): Piece => ({
  ...{ text, kind: 'calm', says: `Written in ${script}`, script },
  ...(!isCommon(text) && { isSpelledOut: true }),
});

/** Whether all of a word looks like letters of ASCII, or like those of another script that people read. */
function looksLikeOthers(word: string, { letter }: Script): boolean {
  const alike = skeleton(word);
  return !letter.test(alike) && (isAscii(alike) || isCommon(alike.replace(/[\x20-\x7e]/g, '')));
}

/** A single character; undefined where it is as plain as ASCII. */
function sign(text: string): Piece | undefined {
  if (isEveryday(text)) return { text, kind: 'calm', says: 'A sign that resembles another one' };
  if (looksLikeAscii(text))
    return { text, kind: 'alike', isSpelledOut: true, says: `Looks like ${skeleton(text)}, and is not` };
  return isCommon(text) ? undefined : { text, kind: 'calm', isSpelledOut: true, says: SPELLED_OUT };
}

/**
 * Words of a language that happen to look Latin (prepositions, above all) are calm between two words of it that do not, and
 * short ones beside one. What stands in a name or an address is not between words.
 */
function calmed(pieces: readonly Piece[]): Piece[] {
  return pieces.map((piece, at) => {
    if (piece.kind !== 'alike' || piece.script === undefined) return piece;
    const sides = [sideOf(pieces, at, -1), sideOf(pieces, at, 1)];
    const isAmongKin =
      sides.includes('kin') && (piece.text.length > 2 ? sides[0] === sides[1] : !sides.includes('other'));
    return isAmongKin ? calmWord(piece.text, piece.script) : piece;
  });
}

/** What stands on one side of a word: a calm word of the same script, nothing but the end of a sentence, or something else. */
function sideOf(pieces: readonly Piece[], at: number, step: 1 | -1): 'kin' | 'end' | 'other' {
  const [word, between, neighbour] = [pieces[at], pieces[at + step], pieces[at + 2 * step]];
  if (between === undefined) return 'end';
  if (between.kind !== 'plain') return 'other';
  if (neighbour?.kind === 'calm' && neighbour.script === word?.script && /^[,;:.!?)]?[ (]{1,2}$/.test(between.text))
    return 'kin';
  return (step === 1 ? /^[,;:.!?)"]*( |$)/ : /(^| )["(]*$/).test(between.text) ? 'end' : 'other';
}

const plain = (text: string): Piece[] => (text === '' ? [] : [{ text, kind: 'plain' }]);

/** Pieces of one kind that stand beside each other become one; so do words that are spelled out, over a blank. */
function join(pieces: readonly Piece[]): Piece[] {
  const joined: Piece[] = [];
  for (const piece of pieces) {
    const [beforeLast, last] = [joined.at(-2), joined.at(-1)];
    const isLike = (one: Piece | undefined): one is Piece =>
      one?.kind === piece.kind && one.isSpelledOut === piece.isSpelledOut;
    if (isLike(last) && (piece.kind === 'plain' || piece.kind === 'escape' || piece.isSpelledOut)) {
      joined[joined.length - 1] = { ...last, text: last.text + piece.text };
    } else if (piece.kind === 'calm' && piece.isSpelledOut && last?.text === ' ' && isLike(beforeLast)) {
      joined.splice(-2, 2, { ...beforeLast, text: `${beforeLast.text} ${piece.text}` });
    } else joined.push(piece);
  }
  return joined;
}

/** What the pattern finds becomes a piece, unless `made` gives none; what is between goes to `rest`. */
function split(
  text: string,
  pattern: RegExp,
  made: (found: string, at: number) => Piece | undefined,
  rest: (between: string) => Piece[],
): Piece[] {
  const pieces: Piece[] = [];
  let from = 0;
  for (const { 0: found, index } of text.matchAll(pattern)) {
    const piece = made(found, index);
    if (piece === undefined) continue;
    if (index > from) for (const one of rest(text.slice(from, index))) pieces.push(one);
    pieces.push(piece);
    from = index + found.length;
  }
  if (from < text.length) for (const one of rest(text.slice(from))) pieces.push(one);
  return pieces;
}

/** The escape that JSON has for it: one `\uXXXX` per UTF-16 code unit. */
function escapeOf(character: string): string {
  const units = Array.from({ length: character.length }, (_, i) => character.charCodeAt(i));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}
