import type { VNode } from 'preact';
import type { Json } from '../../../../workflows/domain/canonical-json.ts';
import { Credentials, credentialsIn, type Hint } from './credentials.tsx';
import { exactLines, rawLine } from './exact.tsx';
import { Pen } from './pen.ts';
import { isWorthReading, readable } from './readable.tsx';
import { oddIn } from './odd.ts';
import { Misleading, StandsOut } from './warnings.tsx';

/** Three drawings of one text, each of which shows all of it. */
export const VIEWS = ['readable', 'exact', 'raw'] as const;
export type View = (typeof VIEWS)[number];

/** The view that an address names; undefined when it names none. */
export const viewOf = (named: unknown): View | undefined => VIEWS.find((view) => view === named);

const NAMES = { readable: 'Readable', exact: 'Exact', raw: 'Raw' } as const satisfies Record<View, string>;
const SAID = {
  readable: 'in the form made for each value',
  exact: 'formatted for reading',
  raw: 'as the digest covers it (RFC 8785)',
} as const satisfies Record<View, string>;

interface BlockProps {
  readonly canonical: string;
  readonly label: string;
  /** Ids of places within the block begin with it. */
  readonly id: string;
  readonly isDense?: boolean;
}

interface ArgumentsProps extends BlockProps {
  readonly heading: VNode;
  /** The view that the reader chose. By default, the readable one where it shows more than formatted JSON. */
  readonly view?: View | undefined;
  /** The address of the page, to which the choice of the view is added. */
  readonly address: string;
  /** Whether the values may be credentials of the caller. */
  readonly mayHoldCredentials: boolean;
}

/**
 * Shows what was asked for, in one of three views, complete, however long it is: it scrolls and is never cut. In every view, invisible
 * and misleading characters appear as escapes, characters that look like others have their code points beside them, and what is drawn
 * determines the bytes. Warnings lead to the places that they are about.
 */
export function Arguments({ heading, view, address, mayHoldCredentials, ...block }: ArgumentsProps) {
  const value = JSON.parse(block.canonical) as Json;
  const chosen = view ?? (isWorthReading(value) ? 'readable' : 'exact');
  const hints = mayHoldCredentials ? credentialsIn(value) : [];
  return (
    <>
      <div class="views">
        {heading}
        <nav class="tabs" aria-label="View">
          {VIEWS.map((one) => (
            <a
              key={one}
              href={`${address}${address.includes('?') ? '&' : '?'}view=${one}#${block.id}`}
              aria-current={one === chosen ? 'true' : undefined}
            >
              {NAMES[one]}
            </a>
          ))}
        </nav>
      </div>
      <StandsOut odd={oddIn(value)} />
      <Drawing {...block} view={chosen} hints={hints} />
    </>
  );
}

/** Shows further JSON of a request, formatted and complete. */
export const JsonBlock = (block: BlockProps) => <Drawing {...block} view="exact" hints={[]} />;

interface DrawingProps extends BlockProps {
  readonly view: View;
  readonly hints: readonly Hint[];
}

function Drawing({ canonical, label, id, isDense, view, hints }: DrawingProps) {
  const marked = new Map(hints.map(({ ordinal }) => [ordinal, `${id}-credential-${ordinal + 1}`]));
  const pen = new Pen({ id, length: canonical.length, isDense, marked });
  const { Tag, content } = drawn(canonical, view, pen);
  const bytes = new TextEncoder().encode(canonical).length;
  return (
    <>
      <Credentials hints={hints} places={marked} />
      <Misleading findings={pen.findings} />
      <Tag class={`json ${view}`} id={id} tabIndex={0} role="region" aria-label={label}>
        {content}
        {/* The script takes the call as read when this was on screen. */}
        <span class="end" />
      </Tag>
      <p class="under">
        Complete and exact: {bytes.toLocaleString('en')} {bytes === 1 ? 'byte' : 'bytes'} of JSON, {SAID[view]}. A bar
        on the left marks wrapped lines{(pen.isDense || view === 'raw') && ', which can break anywhere'}.
        {pen.findings.calm.size > 0 && ' Dots mark characters outside ASCII.'}
      </p>
    </>
  );
}

function drawn(canonical: string, view: View, pen: Pen) {
  if (view === 'readable') return { Tag: 'div', content: readable(JSON.parse(canonical) as Json, pen) } as const;
  const content = view === 'raw' ? rawLine(canonical, pen, { first: 0 }) : exactLines(canonical, pen, { first: 0 });
  return { Tag: 'pre', content } as const;
}
