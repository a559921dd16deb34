/** A piece of foreign text: as it is, or as an escape for what would not show or would mislead. */
export interface Piece {
  readonly text: string;
  readonly kind: 'plain' | 'escape' | 'mixed' | 'rtl';
}

/**
 * What must not reach a page as it is: controls, formatting and bidirectional marks, private and unassigned code
 * points, line and paragraph separators, every blank but the plain one, what fonts leave out, and a third combining
 * mark in a row.
 */
const MISLEADING = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]|(?! )\p{Zs}|(?<=\p{M}{2})\p{M}/gu;
const PRINTABLE_ASCII = /^[\x20-\x7e]*$/;
const WORD = /[\p{L}\p{M}\p{N}_]+/gu;
const LATIN = /\p{Script=Latin}/u;
/** Alphabets with letters that look like Latin ones. */
const LOOKALIKE =
  /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}\p{Script=Coptic}\p{Script=Lisu}]/u;
/** A run of words that are written from right to left, without the digits and signs around it. */
const RTL = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u
  .source;
const RTL_RUN = new RegExp(`${RTL}(?:[ \\p{M}]*${RTL})*`, 'gu');

/**
 * Foreign text in pieces that can be shown side by side: joined, and with the escapes read as JSON reads them, they
 * are the text again. `mixed` marks a word whose letters come from alphabets that look alike; `rtl` is to be set apart,
 * so that it cannot move the digits beside it to its other end.
 */
export function visiblePieces(text: string): Piece[] {
  if (PRINTABLE_ASCII.test(text)) return plain(text);
  return split(text, MISLEADING, (found) => ({ text: escapeOf(found), kind: 'escape' }), markWords);
}

/** Whether nothing in the text is escaped or marked. */
export function isPlain(text: string): boolean {
  return visiblePieces(text).every(({ kind }) => kind === 'plain' || kind === 'rtl');
}

const markWords = (text: string): Piece[] => {
  const mark = (word: string): Piece | undefined =>
    LATIN.test(word) && LOOKALIKE.test(word) ? { text: word, kind: 'mixed' } : undefined;
  return split(text, WORD, mark, setApart);
};

const setApart = (text: string): Piece[] => split(text, RTL_RUN, (run) => ({ text: run, kind: 'rtl' }), plain);

const plain = (text: string): Piece[] => (text === '' ? [] : [{ text, kind: 'plain' }]);

/** What the pattern finds becomes a piece, unless `made` gives none; what is between goes to `rest`. */
function split(
  text: string,
  pattern: RegExp,
  made: (found: string) => Piece | undefined,
  rest: (between: string) => Piece[],
): Piece[] {
  const pieces: Piece[] = [];
  let from = 0;
  for (const { 0: found, index } of text.matchAll(pattern)) {
    const piece = made(found);
    if (piece === undefined) continue;
    for (const one of rest(text.slice(from, index))) pieces.push(one);
    pieces.push(piece);
    from = index + found.length;
  }
  for (const one of rest(text.slice(from))) pieces.push(one);
  return pieces;
}

/** The escape that JSON has for it: one `\uXXXX` per UTF-16 code unit. */
function escapeOf(character: string): string {
  const units = Array.from({ length: character.length }, (_, i) => character.charCodeAt(i));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}
