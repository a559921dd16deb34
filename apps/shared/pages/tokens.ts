import type { Piece } from './visible-text.ts';

/** What stands between two blanks, or the blanks. */
export interface Token {
  readonly pieces: readonly Piece[];
  /**
   * - `word`: no line ends within it;
   * - `short`: no line is to end within it;
   * - `long`: lines may end within it, so that it has to be drawn as one thing: else a reader does not see whether a blank is
   *   where a line ends.
   */
  readonly kind: 'word' | 'short' | 'long' | 'blank';
}

/** What fits beside its indentation on a narrow telephone. */
const SHORT = 18;
/** Browsers break no line between these, and a blank between them is one that a reader expects. */
const UNBROKEN = /^["'(]?[A-Za-z0-9_]*["')]?[.,:;]?["')]?$/;

/** Pieces by what belongs together: only blanks stand between two tokens, so a line that ends between them hides nothing. */
export function tokensOf(pieces: readonly Piece[]): Token[] {
  const tokens: Token[] = [];
  let open: Piece[] = [];
  const close = () => {
    if (open.length > 0) tokens.push({ pieces: open, kind: kindOf(open) });
    open = [];
  };
  for (const piece of pieces) {
    if (piece.kind === 'blanks' || piece.kind === 'edge') {
      close();
      tokens.push({ pieces: [piece], kind: 'blank' });
    } else if (piece.kind === 'plain') {
      for (const text of piece.text.split(/( )/)) {
        if (text === ' ') {
          close();
          tokens.push({ pieces: [{ text, kind: 'plain' }], kind: 'blank' });
        } else if (text !== '') open.push({ text, kind: 'plain' });
      }
    } else open.push(piece);
  }
  close();
  return tokens;
}

function kindOf(pieces: readonly Piece[]): Token['kind'] {
  const [first, ...more] = pieces;
  // What is spelled out takes about seven times its room.
  const length = pieces.reduce((sum, { text, isSpelledOut }) => sum + text.length * (isSpelledOut ? 7 : 1), 0);
  if (length > SHORT) return 'long';
  return first?.kind === 'plain' && more.length === 0 && UNBROKEN.test(first.text) ? 'word' : 'short';
}
