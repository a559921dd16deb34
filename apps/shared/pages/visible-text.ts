/** A piece of foreign text: as it is, or as an escape for what would not show or would mislead. */
export interface Piece {
  readonly text: string;
  readonly kind: 'plain' | 'escape' | 'mixed';
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

/**
 * Foreign text in pieces that can be shown side by side: joined, and with the escapes read as JSON reads them, they
 * are the text again. `mixed` marks a word whose letters come from alphabets that look alike.
 */
export function visiblePieces(text: string): Piece[] {
  if (PRINTABLE_ASCII.test(text)) return text === '' ? [] : [{ text, kind: 'plain' }];
  const pieces: Piece[] = [];
  let from = 0;
  for (const match of text.matchAll(MISLEADING)) {
    pieces.push(...markWords(text.slice(from, match.index)), { text: escapeOf(match[0]), kind: 'escape' });
    from = match.index + match[0].length;
  }
  return [...pieces, ...markWords(text.slice(from))];
}

/** Whether anything in the text is escaped or marked. */
export function isPlain(text: string): boolean {
  return visiblePieces(text).every((piece) => piece.kind === 'plain');
}

function markWords(text: string): Piece[] {
  const pieces: Piece[] = [];
  let from = 0;
  for (const match of text.matchAll(WORD)) {
    if (!LATIN.test(match[0]) || !LOOKALIKE.test(match[0])) continue;
    pieces.push({ text: text.slice(from, match.index), kind: 'plain' }, { text: match[0], kind: 'mixed' });
    from = match.index + match[0].length;
  }
  return [...pieces, { text: text.slice(from), kind: 'plain' } as const].filter((piece) => piece.text !== '');
}

/** The escape that JSON has for it: one `\uXXXX` per UTF-16 code unit. */
function escapeOf(character: string): string {
  return Array.from(
    { length: character.length },
    (_, i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`,
  ).join('');
}
