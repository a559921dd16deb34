import { Fragment } from 'preact';
import { isAscii } from './confusables/skeleton.ts';
import { type Token, tokensOf } from './tokens.ts';
import { type Notation, type Piece, visiblePieces } from './visible-text.ts';

/**
 * Foreign text that cannot pretend to be anything else: nothing in it is hidden, it cannot turn its surroundings, and
 * where its lines are broken shows.
 */
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
  /**
   * Whether every line is filled to its end, so that a blank takes its room wherever it is: then tokens are not kept
   * together, and of the runs of blanks within a text few are dotted. For texts that have a million of either.
   */
  readonly isDense: boolean;
}

/** The same of pieces that are known. */
export function Pieces({ pieces, kind, isDense }: PiecesProps) {
  return (
    <bdi class={`foreign ${kind}${isDense ? ' dense' : ''}`} dir="ltr">
      {isDense ? pieces.map(showDense) : tokensOf(pieces).map(showToken)}
    </bdi>
  );
}

/** A blank within a text before what a font may draw wider than a blank, and where such a thing follows the text, the one at its end. */
const BEFORE_WIDE = { within: /( )(?=[^\x20-\x7e])/, atEnd: /( )(?=[^\x20-\x7e]|$)/ };

/**
 * Where lines are filled to their ends, blanks are dotted only before what is wider than they are: where that has no room in a row, a
 * blank in the last place of this row would look like none.
 */
function showDense(piece: Piece, key: number, pieces: readonly Piece[]) {
  const { kind, text } = piece;
  const next = pieces[key + 1];
  const isBeforeWide = next !== undefined && (next.kind !== 'plain' || !isAscii(next.text.charAt(0)));
  if (kind === 'blanks' && !isBeforeWide) return text;
  if (kind !== 'plain') return show(piece, key);
  return text
    .split(isBeforeWide ? BEFORE_WIDE.atEnd : BEFORE_WIDE.within)
    .map((part, at) => (at % 2 === 0 ? part : show({ kind: 'blanks', text: part }, at)));
}

/** What has no blank in it and is of one width fills its lines to their ends: there is no blank that a reader could miss. */
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
  const { kind, text, says, isSpelledOut } = piece;
  if (kind === 'plain') return text;
  if (kind === 'blanks' || kind === 'edge' || kind === 'escape') {
    return (
      <span key={key} class={kind} title={says}>
        {text}
      </span>
    );
  }
  const Mark = kind === 'alike' ? 'mark' : 'span';
  return (
    <Fragment key={key}>
      <bdi>
        <Mark class={kind} title={says}>
          {text}
        </Mark>
      </bdi>
      {isSpelledOut && <span class={`points ${kind}`}>{codePoints(text)}</span>}
    </Fragment>
  );
}

/** `"p" U+0430 "y"`: the numbers that Unicode has for the characters of a text that are not ASCII. */
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

/** Who acted for a voter by the token with which the vote was cast, the last first. */
export function ActingFor({ actors }: { actors: readonly string[] }) {
  return (
    <>
      (acting for them: <Visible text={actors.join(', ')} />)
    </>
  );
}
