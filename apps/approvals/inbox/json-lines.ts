import type { JsonPiece } from './exact-json.ts';

/** A line as it is drawn, where it is wide enough. */
export interface JsonLine {
  readonly depth: number;
  readonly pieces: readonly JsonPiece[];
}

/**
 * Laid out JSON by lines. A line ends where the layout ends one, and behind each `\n` of a text: what follows it
 * begins a line of its own, as its author wrote it.
 */
export function linesOf(pieces: readonly JsonPiece[]): JsonLine[] {
  const lines: { depth: number; pieces: JsonPiece[] }[] = [{ depth: 0, pieces: [] }];
  const begin = (depth: number) => lines.push({ depth, pieces: [] });
  for (const piece of pieces) {
    if (piece.kind === 'layout' && piece.text.startsWith('\n')) begin((piece.text.length - 1) / 2);
    else if (piece.kind === 'text') {
      const depth = lines.at(-1)?.depth ?? 0;
      for (const [at, text] of writtenLines(piece.text).entries()) {
        if (at > 0) begin(depth);
        lines.at(-1)?.pieces.push({ kind: 'text', text });
      }
    } else lines.at(-1)?.pieces.push(piece);
  }
  return lines;
}

/** A text in JSON, cut behind each line break that is written in it. Scans by hand, as texts may have megabytes. */
function writtenLines(json: string): string[] {
  const lines: string[] = [];
  let from = 0;
  for (let at = json.indexOf('\\'); at !== -1; at = json.indexOf('\\', at + 2)) {
    if (json[at + 1] !== 'n') continue;
    lines.push(json.slice(from, at + 2));
    from = at + 2;
  }
  lines.push(json.slice(from));
  return lines;
}
