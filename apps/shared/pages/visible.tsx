import { Fragment } from 'preact';
import { isAscii } from './confusables/skeleton.ts';
import { type Notation, type Piece, visiblePieces } from './visible-text.ts';

/** Foreign text that cannot deceive: no character is hidden, it cannot change its surroundings, and its line breaks are visible. */
export function Visible({ text, notation = 'plain' }: { text: string; notation?: Notation }) {
  const tokens = tokensOf(visiblePieces(text, notation));
  return (
    <bdi class="foreign" dir="ltr">
      {tokens.map(tokens.length === 1 && notation === 'plain' ? showAlone : showToken)}
    </bdi>
  );
}

interface PiecesProps {
  readonly pieces: readonly Piece[];
  readonly kind: string;
  /** The id of the text's place on the page, if a warning leads there. */
  readonly place?: string | undefined;
  /**
   * Whether lines break anywhere, so that a blank takes its room wherever it is. Then tokens are not kept together, and few runs of blanks
   * within a text are dotted. For texts with a million of either.
   */
  readonly isDense: boolean;
}

/** `Visible` for given pieces. */
export function Pieces({ pieces, kind, place, isDense }: PiecesProps) {
  return (
    <bdi class={`foreign ${kind}${isDense ? ' dense' : ''}`} dir="ltr" {...anchor(place)}>
      {isDense ? pieces.map(showDense) : tokensOf(pieces).map(showToken)}
    </bdi>
  );
}

/** The target of a link, which takes the focus when a person follows the link. */
export const anchor = (id: string | undefined) => (id === undefined ? {} : { id, tabIndex: -1 });

/** A blank before a character that a font may draw wider than a blank. `atEnd` also matches a last blank before a wide piece. */
const BEFORE_WIDE = { within: /( )(?=[^\x20-\x7e])/, atEnd: /( )(?=[^\x20-\x7e]|$)/ };

/**
 * Where lines break anywhere, only blanks before a wider character are dotted: if that character has no room in a row, a blank in the
 * last place of the row would be invisible.
 */
function showDense(piece: Piece, key: number, pieces: readonly Piece[]) {
  const { kind, text } = piece;
  const next = pieces[key + 1];
  const isBeforeWide = next !== undefined && (next.kind !== 'plain' || !isAscii(next.text.charAt(0)));
  if (kind === 'blanks' && !isBeforeWide) return text;
  if (kind !== 'plain') return show(piece, key);
  return text
    .split(isBeforeWide ? BEFORE_WIDE.atEnd : BEFORE_WIDE.within)
    .map((part, at) => show({ ...piece, kind: at % 2 === 0 ? 'plain' : 'blanks', text: part }, at));
}

/** A single token of uniform width may break anywhere, because it has no blank that a reader could miss. */
function showAlone(token: Token, key: number) {
  const isOfOneWidth = token.pieces.every(({ kind, text }) => kind === 'plain' && isAscii(text));
  if (token.kind !== 'long' || !isOfOneWidth) return showToken(token, key);
  return (
    <span key={key} class="dense">
      {token.pieces.map(show)}
    </span>
  );
}

function showToken({ kind, pieces }: Token, key: number) {
  if (kind === 'word' || kind === 'blank') return pieces.map(show);
  return (
    <span key={key} class={kind}>
      {pieces.map(show)}
    </span>
  );
}

function show(piece: Piece, key: number) {
  const { kind, text, says, isSpelledOut, tone, place } = piece;
  if (kind === 'plain' && tone === undefined) return text;
  if (kind === 'plain') {
    return (
      <span key={key} class={tone}>
        {text}
      </span>
    );
  }
  if (kind === 'blanks' || kind === 'edge' || kind === 'tab' || kind === 'escape') {
    return (
      <span key={key} class={kind} title={says} {...anchor(place)}>
        {text}
      </span>
    );
  }
  const Mark = kind === 'alike' ? 'mark' : 'span';
  return (
    <Fragment key={key}>
      <bdi>
        <Mark class={kind} title={says} {...anchor(place)}>
          {text}
        </Mark>
      </bdi>
      {isSpelledOut && <span class={`points ${kind}`}>{codePoints(text)}</span>}
    </Fragment>
  );
}

/** `"p" U+0430 "y"`: the text with code points in place of its characters beyond ASCII. */
const codePoints = (text: string): string =>
  (text.match(/[\x20-\x7e]+|[^\x20-\x7e]+/g) ?? [])
    .map((part) => (isAscii(part) ? `"${part}"` : `U+${Array.from(part, hexOf).join(' ')}`))
    .join(' ');

const hexOf = (character: string) => character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0');

/** An identifier, a name or a digest in a fixed-width font. */
export function Code({ text }: { text: string }) {
  return (
    <code>
      <Visible text={text} />
    </code>
  );
}

/** The actors in the token of a vote, the last one first. */
export function ActingFor({ actors }: { actors: readonly string[] }) {
  return (
    <>
      (acting for them: <Visible text={actors.join(', ')} />)
    </>
  );
}

/** The text between two blanks, or the blanks. */
interface Token {
  readonly pieces: readonly Piece[];
  /**
   * - `word`: browsers never break a line within it;
   * - `short`: lines must not break within it;
   * - `long`: lines may break within it, so it is drawn as one unit; otherwise a line break could hide a blank.
   */
  readonly kind: 'word' | 'short' | 'long' | 'blank';
}

/** Characters that fit beside the indentation on a narrow phone. */
const SHORT = 18;
/** Browsers break no line within such a text, and readers expect a blank after it. */
const UNBROKEN = /^["'(]?[A-Za-z0-9_]*["')]?[.,:;]?["')]?$/;

/** Groups pieces into tokens. Only blanks separate tokens, so a line break between them hides no character. */
function tokensOf(pieces: readonly Piece[]): Token[] {
  const tokens: Token[] = [];
  let open: Piece[] = [];
  const close = () => {
    if (open.length > 0) tokens.push({ pieces: open, kind: kindOf(open) });
    open = [];
  };
  for (const piece of pieces) {
    if (piece.kind === 'blanks' || piece.kind === 'edge' || piece.kind === 'tab') {
      close();
      tokens.push({ pieces: [piece], kind: 'blank' });
    } else if (piece.kind === 'plain') {
      for (const text of piece.text.split(/( )/)) {
        if (text === ' ') {
          close();
          tokens.push({ pieces: [{ text, kind: 'plain' }], kind: 'blank' });
        } else if (text !== '') open.push({ ...piece, text });
      }
    } else open.push(piece);
  }
  close();
  return tokens;
}

function kindOf(pieces: readonly Piece[]): Token['kind'] {
  const [first, ...more] = pieces;
  // A spelled out text takes about seven times its room.
  const length = pieces.reduce((sum, { text, isSpelledOut }) => sum + text.length * (isSpelledOut ? 7 : 1), 0);
  if (length > SHORT) return 'long';
  return first?.kind === 'plain' && more.length === 0 && UNBROKEN.test(first.text) ? 'word' : 'short';
}
