import type { VNode } from 'preact';
import { DEEPEST_LEVEL } from '../../../shared/pages/assets.ts';
import { Pieces } from '../../../shared/pages/visible.tsx';
import { type JsonLine, type JsonPiece, layOutJson, linesOf } from './json-lines.ts';
import type { Pen } from './pen.ts';

const CLASSES = { key: 'k', text: 's', other: 'o', layout: '' } as const satisfies Record<JsonPiece['kind'], string>;

interface LineOptions {
  /** How many string values are before this text; undefined for a text that no warning about a value leads to. */
  readonly first?: number;
  readonly isDense?: boolean;
}

/** JSON without blanks between its tokens, formatted and complete, however long it is. */
export const exactLines = (compact: string, pen: Pen, options: LineOptions = {}): VNode[] =>
  linesOf(layOutJson(compact)).map((line) => lineOf(line, pen, options));

/** The same text as it is, in one line that breaks anywhere. */
export function rawLine(compact: string, pen: Pen, options: LineOptions = {}): VNode {
  const pieces = layOutJson(compact).filter(({ kind }) => kind !== 'layout');
  return lineOf({ depth: 0, pieces }, pen, { ...options, isDense: true });
}

function lineOf({ depth, pieces }: JsonLine, pen: Pen, { first, isDense = pen.isDense }: LineOptions): VNode {
  return (
    <span class={`line d${Math.min(depth, DEEPEST_LEVEL)}`}>
      {pieces.map(({ kind, text, ordinal }, at) => {
        if (kind === 'layout') return text;
        if (kind === 'other') {
          return (
            <span key={at} class={CLASSES.other}>
              {text}
            </span>
          );
        }
        const shown = pen.pieces(text, 'json');
        const place = first === undefined || ordinal === undefined ? undefined : pen.placeOf(first + ordinal);
        return <Pieces key={at} pieces={shown} kind={CLASSES[kind]} place={place} isDense={isDense} />;
      })}
      {'\n'}
    </span>
  );
}
