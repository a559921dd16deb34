/** A piece of laid out JSON. `text` pieces are strings in the content, the rest is structure. */
export interface JsonPiece {
  readonly kind: 'key' | 'text' | 'other' | 'layout';
  readonly text: string;
}

const INDENT = '  ';

/**
 * Lays out RFC 8785 text for reading. Only blanks and line breaks are added, and only between tokens: with the
 * `layout` pieces left out, the pieces joined are the text that was given, character for character.
 */
export function layOutJson(canonical: string): JsonPiece[] {
  const pieces: JsonPiece[] = [];
  let depth = 0;
  const breakLine = () => pieces.push({ kind: 'layout', text: `\n${INDENT.repeat(depth)}` });
  for (let at = 0; at < canonical.length;) {
    const end = endOfToken(canonical, at);
    const text = canonical.slice(at, end);
    const opens = text === '{' || text === '[';
    const closes = text === '}' || text === ']';
    const isEmpty = closes && (canonical[at - 1] === '{' || canonical[at - 1] === '[');
    if (closes) depth -= 1;
    if (closes && !isEmpty) breakLine();
    pieces.push({ kind: kindOf(text, canonical[end]), text });
    if (opens) depth += 1;
    if ((opens && canonical[end] !== '}' && canonical[end] !== ']') || text === ',') breakLine();
    if (text === ':') pieces.push({ kind: 'layout', text: ' ' });
    at = end;
  }
  return pieces;
}

function kindOf(token: string, next: string | undefined): JsonPiece['kind'] {
  if (token.startsWith('"')) return next === ':' ? 'key' : 'text';
  return 'other';
}

/** Where the token that begins at `at` ends. Scans by hand: a pattern would need memory for each character of a string. */
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
