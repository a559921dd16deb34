/** A piece of formatted JSON. `text` pieces are string values; the others are structure. */
export interface JsonPiece {
  readonly kind: 'key' | 'text' | 'other' | 'layout';
  readonly text: string;
  /** How many string values are before this one. Only the first line of a string has it. */
  readonly ordinal?: number;
}

const INDENT = '  ';

/**
 * Formats JSON without blanks between its tokens (RFC 8785 text is such) for reading. It adds only blanks and line breaks between tokens:
 * without the `layout` pieces, the joined pieces are the given text, character for character.
 */
export function layOutJson(compact: string): JsonPiece[] {
  const pieces: JsonPiece[] = [];
  let depth = 0;
  let strings = 0;
  const breakLine = () => pieces.push({ kind: 'layout', text: `\n${INDENT.repeat(depth)}` });
  for (let at = 0; at < compact.length;) {
    const end = endOfToken(compact, at);
    const text = compact.slice(at, end);
    const opens = text === '{' || text === '[';
    const closes = text === '}' || text === ']';
    const isEmpty = closes && (compact[at - 1] === '{' || compact[at - 1] === '[');
    if (closes) depth -= 1;
    if (closes && !isEmpty) breakLine();
    const kind = kindOf(text, compact[end]);
    pieces.push(kind === 'text' ? { kind, text, ordinal: strings++ } : { kind, text });
    if (opens) depth += 1;
    if ((opens && compact[end] !== '}' && compact[end] !== ']') || text === ',') breakLine();
    if (text === ':') pieces.push({ kind: 'layout', text: ' ' });
    at = end;
  }
  return pieces;
}

function kindOf(token: string, next: string | undefined): JsonPiece['kind'] {
  if (token.startsWith('"')) return next === ':' ? 'key' : 'text';
  return 'other';
}

/** Where the token at `at` ends. Scans by hand: a pattern would need memory for each character of a string. */
function endOfToken(json: string, at: number): number {
  const first = json[at] ?? '';
  if ('{}[],:'.includes(first)) return at + 1;
  let end = at + 1;
  if (first !== '"') {
    while (end < json.length && !'}],'.includes(json[end] ?? '')) end += 1;
    return end;
  }
  while (end < json.length && json[end] !== '"') end += json[end] === '\\' ? 2 : 1;
  return end + 1;
}

export interface JsonLine {
  readonly depth: number;
  readonly pieces: readonly JsonPiece[];
}

/**
 * Splits formatted JSON into lines. A line also ends after each `\n` in a string, so that the page shows the lines that the author
 * of the string wrote.
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
        lines.at(-1)?.pieces.push(at === 0 ? { ...piece, text } : { kind: 'text', text });
      }
    } else lines.at(-1)?.pieces.push(piece);
  }
  return lines;
}

/** A JSON string, split after each escaped line break. Scans by hand because strings can have megabytes. */
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
