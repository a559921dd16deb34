import { Visible } from '../../shared/pages/visible.tsx';
import { isPlain } from '../../shared/pages/visible-text.ts';
import { layOutJson, type JsonPiece } from './exact-json.ts';

const CLASSES = { key: 't k', text: 't s', other: 'o', layout: '' } as const satisfies Record<
  JsonPiece['kind'],
  string
>;

/**
 * RFC 8785 text, laid out and complete, however long it is: it scrolls and is never cut. What would not show, or would
 * mislead, stands there as its escape.
 */
export function JsonBlock({ canonical, label }: { canonical: string; label: string }) {
  const bytes = new TextEncoder().encode(canonical).length;
  return (
    <>
      {!isPlain(canonical) && <Misleading />}
      <pre class="json" tabIndex={0} role="region" aria-label={label}>
        {layOutJson(canonical).map((piece, i) => {
          if (piece.kind === 'layout') return piece.text;
          return (
            <span key={i} class={CLASSES[piece.kind]}>
              {piece.kind === 'other' ? piece.text : <Visible text={piece.text} />}
            </span>
          );
        })}
      </pre>
      <p class="under">
        Complete and exact: {bytes.toLocaleString('en')} {bytes === 1 ? 'byte' : 'bytes'} of JSON, laid out for reading.
      </p>
    </>
  );
}

function Misleading() {
  return (
    <div class="notice warn" role="note">
      <p>
        <strong>Look closely.</strong> These arguments have characters that do not show or that look like others. They
        stand here as escapes such as <span class="escape">\u202e</span>, or are <mark class="mixed">underlined</mark>{' '}
        where alphabets are mixed in one word.
      </p>
    </div>
  );
}
