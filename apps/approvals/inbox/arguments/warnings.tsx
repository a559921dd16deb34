import type { VNode } from 'preact';
import { Visible } from '../../../shared/pages/visible.tsx';
import type { Odd } from './odd.ts';
import type { Finding, Findings } from './pen.ts';

/** How many findings of a kind a warning names, and to how many places of each it leads. The view marks all of them. */
const NAMED = 8;
const LINKED = 12;

/** Names each finding and leads to its places, so that an approver need not search many lines for it. */
export function Misleading({ findings: { hidden, alike, blanks } }: { findings: Findings }) {
  if (hidden.length + alike.length + blanks.length === 0) return null;
  return (
    <div class="notice warn" role="note">
      <p>
        <strong>Look closely.</strong> These arguments contain invisible characters, or characters that look like
        others.
      </p>
      <ul>
        {hidden.length > 0 && (
          <li>
            Shown as escapes: <Named findings={hidden} shown={(text) => <code class="escape">{text}</code>} />
          </li>
        )}
        {alike.length > 0 && (
          <li>
            Characters that look like others, with their code points beside them:{' '}
            <Named findings={alike} shown={(text) => <Visible text={text.slice(0, 40)} />} />
          </li>
        )}
        {blanks.length > 0 && (
          <li>
            Long runs of blanks, each shown as a dot:{' '}
            <Named findings={blanks} shown={({ length }) => `${length.toLocaleString('en')} blanks in a row`} />
          </li>
        )}
      </ul>
    </div>
  );
}

/** A value is shown up to this length. The view has all of it. */
const SHOWN = 80;

/** Names what a reader of many lines or rows easily passes over, in every view. */
export function StandsOut({ odd }: { odd: readonly Odd[] }) {
  if (odd.length === 0) return null;
  return (
    <div class="notice warn" role="note">
      <p>
        <strong>This stands out.</strong> It is a help for reading. What it does not name can still be wrong.
      </p>
      <ul>
        {odd.map(({ path, json, why }) => (
          <li key={`${path} ${why}`}>
            {path === '' ? 'The text' : <Visible text={path} />}
            {json !== undefined && (
              <>
                {' is '}
                <Visible text={json.slice(0, SHOWN)} notation="json" />
                {json.length > SHOWN && '…'}
              </>
            )}
            : {why}
          </li>
        ))}
      </ul>
    </div>
  );
}

interface NamedProps {
  readonly findings: readonly Finding[];
  readonly shown: (text: string) => string | VNode;
}

function Named({ findings, shown }: NamedProps) {
  return (
    <>
      {findings.slice(0, NAMED).map(({ text, places: [first, ...others], count }, at) => (
        <span key={text}>
          {at > 0 && ', '}
          {first === undefined ? shown(text) : <a href={`#${first}`}>{shown(text)}</a>}
          {others.slice(0, LINKED - 1).map((place, at) => (
            <>
              {' '}
              <a key={place} href={`#${place}`} aria-label={`Place ${at + 2} of ${text}`}>
                {at + 2}
              </a>
            </>
          ))}
          {count > LINKED && ` (${count.toLocaleString('en')} places)`}
        </span>
      ))}
      {findings.length > NAMED && `, and ${(findings.length - NAMED).toLocaleString('en')} more`}
    </>
  );
}
