import { findingsOf, isSuspect, type Findings } from '../../shared/pages/findings.ts';
import { Pieces, Visible } from '../../shared/pages/visible.tsx';
import { visiblePieces } from '../../shared/pages/visible-text.ts';
import { layOutJson, type JsonPiece } from './exact-json.ts';
import { linesOf, type JsonLine } from './json-lines.ts';

const CLASSES = { key: 'k', text: 's', other: 'o', layout: '' } as const satisfies Record<JsonPiece['kind'], string>;
/** The deepest level that is set in further than the one before it; brackets tell the others. */
const DEEPEST = 12;
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
    <span class={`line d${Math.min(depth, DEEPEST)}`}>
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
