import { isAscii, looksLikeAscii, skeleton } from './confusables/skeleton.ts';
import { CJK, isCommon, isEveryday, type Script, scriptsOf } from './letters.ts';

/** A piece of foreign text: as it is, or marked so that it cannot be mistaken for another text. */
export interface Piece {
  readonly text: string;
  /**
   * - `plain`: text that all readers take for the same, with single blanks between words;
   * - `blanks`: a run of blanks, as in indented code;
   * - `edge`: unexpected blanks: at an end, or so many that the text after them is out of sight;
   * - `tab`: a tab within the line of a text;
   * - `escape`: the escape of a character that would not show, or would change its surroundings;
   * - `alike`: text that looks like other letters or signs;
   * - `calm`: other letters and signs, which do not.
   */
  readonly kind: 'plain' | 'blanks' | 'edge' | 'tab' | 'escape' | 'alike' | 'calm';
  /** Whether its code points are shown, because fonts may draw it as another text, or not at all. */
  readonly isSpelledOut?: true;
  /** An explanation for people. */
  readonly says?: string;
  /** The script of a word, if it has only one. */
  readonly script?: string;
  /** The id of its place on the page, to which a warning leads. */
  readonly place?: string;
  /** The colour of its role in a program. It means nothing else: without it, the piece is the same. */
  readonly tone?: string;
}

/**
 * The notation of a text:
 *
 * - `plain`: a name, in which every control character is odd;
 * - `json`: a JSON string (RFC 8785) with its quotes;
 * - `text`: the first line of a text;
 * - `line`: a further line of a text, which may be indented.
 */
export type Notation = 'plain' | 'json' | 'text' | 'line';

const LETTER = String.raw`[[\p{L}\p{M}]--[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Inherited}]]`;
/**
 * Characters that must not reach a page as they are: controls, formatting and bidirectional marks, private and unassigned code points,
 * line and paragraph separators, all blanks but the plain one, characters that fonts leave out or draw as nothing, a combining mark beside
 * a letter that is written without one, and a third combining mark in a row.
 */
const HIDDEN =
  String.raw`[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}` +
  String.raw`|(?<!${LETTER}\p{M}?)\p{M}|(?<=\p{M}{2})\p{M}`;
/** A pictograph, including its joiners. */
const PICTURE = String.raw`(?!\p{ASCII})\p{Extended_Pictographic}\ufe0f?(?:\u200d\p{Extended_Pictographic}\ufe0f?)*`;
/** A run of blanks, and a blank at an end of the text, of a line, or of the text in the quotes. */
const BLANKS = String.raw`(?<=^"?) +| {2,}| (?=(?:"|\\n)?$)`;
/** Blanks beside a tab show, because a browser may end a row there. */
const BESIDE_TABS = String.raw` +(?=\t)|(?<=\t) +`;
const OF_LINES = new RegExp(`${BESIDE_TABS}|${BLANKS}|${PICTURE}|${HIDDEN}`, 'gv');
const STEPS = {
  plain: new RegExp(`${BLANKS}|${PICTURE}|${HIDDEN}`, 'gv'),
  text: OF_LINES,
  line: OF_LINES,
  json: new RegExp(String.raw`\\(?:u[\da-f]{4}|[^u])|${BLANKS}|${PICTURE}|${HIDDEN}`, 'gv'),
};
/** A run of blanks of this length within a line may be meant to push text out of sight. */
export const LONG_RUN = 12;
/** Frequent and harmless escapes of JSON. */
const ORDINARY_ESCAPE = /^\\["\\nt]$/;
const ASIAN = new RegExp(String.raw`${CJK}+(?:[\u3001-\u303f\uff01-\uff0f\uff1a-\uff20]+${CJK}*)*`, 'gu');
const WORD = new RegExp(String.raw`[[\p{L}\p{M}\p{N}_]--${CJK}]+`, 'gv');
const BEYOND_ASCII = /[^\x00-\x7f]/gu; // oxlint-disable-line no-control-regex -- all that is not ASCII
const ORDINARY = /^(?! )(?:[\x21-\x7e]| (?! |$))*$/;
const NOTHING_TO_SEE = {
  plain: ORDINARY,
  text: ORDINARY,
  line: ORDINARY,
  json: /^"?(?! )(?:[\x21\x23-\x5b\x5d-\x7e]| (?! |"?$))*"?$/,
};

const ESCAPED = 'A character that does not show, or misleads';
const MIXED = 'Letters of different alphabets in one word';
const SPELLED_OUT = 'A sign that not every font has, with its code point';

/**
 * Splits foreign text into pieces that can be shown side by side. Joined, and with their escapes read as JSON, they are the text again. The
 * pieces of two different texts differ visibly, and not only in letters that fonts draw alike or lack.
 */
export function visiblePieces(text: string, notation: Notation = 'plain'): Piece[] {
  if (NOTHING_TO_SEE[notation].test(text)) return plain(text);
  const made = (found: string, at: number) =>
    found.startsWith(' ') ? blanks(found, at, text, notation) : hidden(found, notation);
  const pieces = split(text, STEPS[notation], made, (between) =>
    split(between, ASIAN, asian, (rest) =>
      split(rest, WORD, ofWord, (others) => split(others, BEYOND_ASCII, sign, plain)),
    ),
  );
  return join(calmed(join(pieces)));
}

/** For places without marks, such as an `<option>` or the title of a window: characters that do not show, or mislead, become escapes. */
export const visibleTitle = (text: string): string =>
  visiblePieces(text)
    .map((piece) => (piece.kind === 'alike' ? Array.from(piece.text, escapeOf).join('') : piece.text))
    .join('');

function hidden(found: string, notation: Notation): Piece {
  if (notation === 'text' || notation === 'line') {
    if (found === '\t') return { text: found, kind: 'tab' };
    // As JSON writes it, such as `\\r`, so that all views of a text name it alike.
    const short = JSON.stringify(found).slice(1, -1);
    if (/^\\.$/.test(short)) return { text: short, kind: 'escape', says: ESCAPED };
  } else if (ORDINARY_ESCAPE.test(found)) return { text: found, kind: 'plain' };
  else if (found.startsWith('\\')) return { text: found, kind: 'escape', says: ESCAPED };
  if (isCommon(found)) return { text: found, kind: 'plain' };
  if (/^\p{Extended_Pictographic}/u.test(found)) return calmAndSpelledOut(found, SPELLED_OUT);
  return { text: escapeOf(found), kind: 'escape', says: ESCAPED };
}

/** Blanks at the start of a line within a longer text are its indentation. At any other end, they are unexpected. */
function blanks(found: string, at: number, text: string, notation: Notation): Piece {
  const after = text.slice(at + found.length, at + found.length + 3);
  const isAtEnd = {
    plain: at === 0 || after === '',
    text: at === 0 || after === '',
    line: after === '',
    json: (at === 1 && text.startsWith('"')) || /^("|\\n)$/.test(after),
  }[notation];
  const isEdge = isAtEnd || (at > 0 && found.length >= LONG_RUN);
  return isEdge ? { text: found, kind: 'edge', says: 'Blanks' } : { text: found, kind: 'blanks' };
}

const calmAndSpelledOut = (text: string, says: string): Piece => ({ text, kind: 'calm', isSpelledOut: true, says });
const asian = (text: string): Piece => calmAndSpelledOut(text, 'Chinese, Japanese or Korean');
const alike = (text: string, says: string): Piece => ({ text, kind: 'alike', isSpelledOut: true, says });

/** A word in letters other than Latin ones; undefined where its characters have to be examined one by one. */
function ofWord(text: string): Piece | undefined {
  if (isAscii(text)) return undefined;
  const [script, ...more] = scriptsOf(text);
  if (script === undefined || (script.name === 'Latin' && more.length === 0)) return undefined;
  if (more.length > 0) return alike(text, MIXED);
  if (!looksLikeOthers(text, script)) return calmWord(text, script.name);
  return { ...alike(text, `${script.name} that looks like other letters`), script: script.name };
}

const calmWord = (text: string, script: string): Piece => ({
  ...{ text, kind: 'calm', says: `Written in ${script}`, script },
  ...(!isCommon(text) && { isSpelledOut: true }),
});

/** Whether a whole word looks like letters of ASCII, or of another script that people read. */
function looksLikeOthers(word: string, { letter }: Script): boolean {
  const shape = skeleton(word);
  return !letter.test(shape) && (isAscii(shape) || isCommon(shape.replace(/[\x20-\x7e]/g, '')));
}

/** A single character; undefined for one that is as plain as ASCII. */
function sign(text: string): Piece | undefined {
  if (isEveryday(text)) return { text, kind: 'calm', says: 'A sign that resembles another one' };
  if (looksLikeAscii(text)) return alike(text, `Looks like ${skeleton(text)}, and is not`);
  return isCommon(text) ? undefined : calmAndSpelledOut(text, SPELLED_OUT);
}

/**
 * A word that happens to look Latin (mostly a preposition) is calm between two words of its language that do not, and a short one also
 * beside one such word. In a name or an address, no text is between words.
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

/** The neighbour of a word: a calm word of the same script (`kin`), the end of a sentence, or another text. */
function sideOf(pieces: readonly Piece[], at: number, step: 1 | -1): 'kin' | 'end' | 'other' {
  const [word, between, neighbour] = [pieces[at], pieces[at + step], pieces[at + 2 * step]];
  if (between === undefined) return 'end';
  if (between.kind !== 'plain') return 'other';
  if (neighbour?.kind === 'calm' && neighbour.script === word?.script && /^[,;:.!?)]?[ (]{1,2}$/.test(between.text))
    return 'kin';
  return (step === 1 ? /^[,;:.!?)"]*( |$)/ : /(^| )["(]*$/).test(between.text) ? 'end' : 'other';
}

const plain = (text: string): Piece[] => (text === '' ? [] : [{ text, kind: 'plain' }]);

/** Joins adjacent pieces of one kind, and spelled out words with a blank between them. */
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

/** Turns each match into a piece, unless `made` returns undefined, and passes the text between to `rest`. */
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

/** The JSON escape: one `\uXXXX` per UTF-16 code unit. */
function escapeOf(character: string): string {
  const units = Array.from({ length: character.length }, (_, i) => character.charCodeAt(i));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}

/** Whether some of these pieces may be meant to deceive: an escape, a look-alike, or blanks that push text out of sight. */
export const canMislead = (pieces: readonly Piece[]): boolean =>
  pieces.some(
    ({ kind, text }) => kind === 'escape' || kind === 'alike' || (kind === 'edge' && text.length >= LONG_RUN),
  );
