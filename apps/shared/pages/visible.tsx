import { Fragment } from 'preact';
import { isAscii } from './confusables/skeleton.ts';
import { tokensOf, type Token } from './tokens.ts';
import { visiblePieces, type Notation, type Piece } from './visible-text.ts';

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
   * together, and runs of blanks within a text are not dotted. For texts that have a million of either.
   */
  readonly isDense: boolean;
}

/** The same of pieces that are known. */
export function Pieces({ pieces, kind, isDense }: PiecesProps) {
  return (
    <bdi class={`foreign ${kind}${isDense ? ' dense' : ''}`} dir="ltr">
      {isDense
        ? pieces.map((piece, i) => (piece.kind === 'blanks' ? piece.text : show(piece, i)))
        : tokensOf(pieces).map(showToken)}
    </bdi>
  );
}

/** What has no blank in it can be broken anywhere: there is none that a reader could miss. */
const showAlone = ({ pieces }: Token) => pieces.map(show);

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
