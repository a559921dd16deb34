import { DEEPEST_LEVEL } from '../../shared/pages/assets.ts';
import { type Findings, findingsOf, isSuspect, visiblePieces } from '../../shared/pages/visible-text.ts';
import { Pieces, Visible } from '../../shared/pages/visible.tsx';

/** A piece of formatted JSON. `text` pieces are string values; the others are structure. */
interface JsonPiece {
  readonly kind: 'key' | 'text' | 'other' | 'layout';
  readonly text: string;
}

const INDENT = '  ';

/**
 * Formats RFC 8785 text for reading. It adds only blanks and line breaks between tokens: without the `layout` pieces, the
 * joined pieces are the given text, character for character.
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

interface JsonLine {
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
        lines.at(-1)?.pieces.push({ kind: 'text', text });
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

const CLASSES = { key: 'k', text: 's', other: 'o', layout: '' } as const satisfies Record<JsonPiece['kind'], string>;
/** From this length on, lines may break inside tokens: there could be a million tokens. */
const DENSE_FROM = 100_000;
/** How many findings of a kind the warning names. The text marks all of them. */
const NAMED = 8;

interface JsonBlockProps {
  readonly canonical: string;
  readonly label: string;
  readonly isDense?: boolean;
}

/**
 * Shows RFC 8785 text formatted and complete, however long it is: it scrolls and is never cut. Invisible and misleading
 * characters appear as escapes; characters that look like others have their code points beside them.
 */
export function JsonBlock({ canonical, label, isDense = canonical.length > DENSE_FROM }: JsonBlockProps) {
  const bytes = new TextEncoder().encode(canonical).length;
  const lines = linesOf(layOutJson(canonical)).map(drawnLine);
  const findings = findingsOf(lines.flatMap(({ parts }) => parts.map(({ shown }) => shown)));
  return (
    <>
      {isSuspect(findings) && <Misleading findings={findings} />}
      <pre class="json" tabIndex={0} role="region" aria-label={label}>
        {lines.map((line, i) => (
          <Line key={i} line={line} isDense={isDense} />
        ))}
      </pre>
      <p class="under">
        Complete and exact: {bytes.toLocaleString('en')} {bytes === 1 ? 'byte' : 'bytes'} of JSON, formatted for
        reading. A bar on the left marks wrapped lines{isDense && ', which can break anywhere'}.
        {findings.calm.length > 0 && ' Dots mark characters outside ASCII.'}
      </p>
    </>
  );
}

const drawnLine = ({ depth, pieces }: JsonLine) => ({
  depth,
  parts: pieces.map((piece) => ({ ...piece, shown: isText(piece) ? visiblePieces(piece.text, 'json') : [] })),
});

const isText = ({ kind }: JsonPiece) => kind === 'key' || kind === 'text';

function Line({ line: { depth, parts }, isDense }: { line: ReturnType<typeof drawnLine>; isDense: boolean }) {
  return (
    <span class={`line d${Math.min(depth, DEEPEST_LEVEL)}`}>
      {parts.map(({ kind, text, shown }, i) => {
        if (kind === 'layout') return text;
        if (kind !== 'other') return <Pieces key={i} pieces={shown} kind={CLASSES[kind]} isDense={isDense} />;
        return (
          <span key={i} class={CLASSES.other}>
            {text}
          </span>
        );
      })}
      {'\n'}
    </span>
  );
}

/** Names each finding, so that an approver need not search many lines for it. */
function Misleading({ findings: { hidden, alike, blanks } }: { findings: Findings }) {
  return (
    <div class="notice warn" role="note">
      <p>
        <strong>Look closely.</strong> These arguments contain invisible characters, or characters that look like
        others.
      </p>
      <ul>
        {hidden.length > 0 && (
          <li>
            Shown as escapes: <Named texts={hidden} isEscape />
          </li>
        )}
        {alike.length > 0 && (
          <li>
            Characters that look like others, with their code points beside them: <Named texts={alike} />
          </li>
        )}
        {blanks > 0 && <li>{blanks.toLocaleString('en')} blanks in a row, each shown as a dot</li>}
      </ul>
    </div>
  );
}

function Named({ texts, isEscape }: { texts: readonly string[]; isEscape?: boolean }) {
  return (
    <>
      {texts.slice(0, NAMED).map((text, i) => (
        <span key={i}>
          {i > 0 && ', '}
          {isEscape ? <code class="escape">{text}</code> : <Visible text={text.slice(0, 40)} />}
        </span>
      ))}
      {texts.length > NAMED && `, and ${(texts.length - NAMED).toLocaleString('en')} more`}
    </>
  );
}
