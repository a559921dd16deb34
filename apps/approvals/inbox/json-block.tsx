import { DEEPEST_LEVEL } from '../../shared/pages/assets.ts';
import { type Findings, findingsOf, isSuspect, visiblePieces } from '../../shared/pages/visible-text.ts';
import { Pieces, Visible } from '../../shared/pages/visible.tsx';

/** A piece of laid out JSON. `text` pieces are strings in the content, the rest is structure. */
interface JsonPiece {
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

/** A line as it is drawn, where it is wide enough. */
interface JsonLine {
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

const CLASSES = { key: 'k', text: 's', other: 'o', layout: '' } as const satisfies Record<JsonPiece['kind'], string>;
/** From how many characters on tokens are not kept together: there would be a million of them. */
const DENSE_FROM = 100_000;
/** How many findings of a kind are named. All of them are marked. */
const NAMED = 8;

interface JsonBlockProps {
  readonly canonical: string;
  readonly label: string;
  readonly isDense?: boolean;
}

/**
 * RFC 8785 text, laid out and complete, however long it is: it scrolls and is never cut. What would not show, or would
 * mislead, stands there as its escape; what looks like something else has its code points beside it.
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
        Complete and exact: {bytes.toLocaleString('en')} {bytes === 1 ? 'byte' : 'bytes'} of JSON, laid out for reading.
        A bar at the left stands beside lines that had to be broken{isDense && ', which is done anywhere'}.
        {findings.calm.length > 0 && ' Dots are under what is written in other letters or signs than those of ASCII.'}
      </p>
    </>
  );
}

/** A line with what is drawn of its texts. */
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

/** What to look at, in words: each thing that was found, so that a person need not find it among many lines. */
function Misleading({ findings: { hidden, alike, blanks } }: { findings: Findings }) {
  return (
    <div class="notice warn" role="note">
      <p>
        <strong>Look closely.</strong> These arguments have characters that do not show, or that look like others.
      </p>
      <ul class="findings">
        {hidden.length > 0 && (
          <li>
            Shown as escapes: <Named texts={hidden} isEscape />
          </li>
        )}
        {alike.length > 0 && (
          <li>
            Not what they look like, with their code points beside them: <Named texts={alike} />
          </li>
        )}
        {blanks > 0 && <li>{blanks.toLocaleString('en')} blanks in a row, each drawn as a dot</li>}
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
