import { canonicalJson, type JsonObject } from '../../../workflows/domain/canonical-json.ts';
import type { PreviewFault } from '../../../workflows/domain/tools/preview.ts';
import { Facts, Instant, Time } from '../../shared/pages/layout.tsx';
import { Code, Pieces } from '../../shared/pages/visible.tsx';
import { canMislead, LONG_RUN, type Piece, visiblePieces } from '../../shared/pages/visible-text.ts';
import type { ShownPreview } from '../access-requests/preview.ts';

const FAULTS = {
  late: 'The server gave none in time.',
  unreachable: 'The server could not be reached.',
  not_accepted: 'The tool that gives it is not there, or its description is not the accepted one.',
  no_dry_run: 'The accepted description of the tool does not allow a certain dry run of this call.',
  unfit: 'The arguments of this call do not fit the tool that gives it.',
  unmet: 'Requirements of the tool that gives it are not met.',
  withheld: 'The operator withholds results of the tool that gives it.',
  unreadable: 'The answer of the server could not be read.',
  too_many: 'The requester asked for too much within a minute.',
} as const satisfies Record<PreviewFault, string>;

/**
 * What the server of the tool says would happen. It is that server's word and not bound to the decision, so it is apart from the call, and
 * says so.
 */
export function PreviewSection({ preview }: { preview: ShownPreview }) {
  const { taken_at: at, fault } = preview;
  return (
    <section class="card" aria-labelledby="preview">
      <h2 id="preview">Preview</h2>
      {fault === undefined ? (
        <Said preview={preview} />
      ) : (
        <p>
          <strong>No preview.</strong> {FAULTS[fault]} Decide by the call itself. (<Instant at={at} />)
        </p>
      )}
    </section>
  );
}

function Said({ preview }: { preview: ShownPreview }) {
  const { tool, arguments: fixed, taken_at: at, is_error: isError, digest, bytes = 0, parts, is_cut: isCut } = preview;
  const asked = canonicalJson(fixed as JsonObject);
  return (
    <>
      <p>
        This is what the server of the tool says would happen, <Time at={at} />. It is the server’s word and was not
        checked. Your decision is about the call above.
      </p>
      {isError && <p class="notice warn">The server answered with an error.</p>}
      {parts.map((part, i) =>
        'text' in part ? (
          <TextLines key={i} text={part.text} />
        ) : (
          <p key={i} class="soft">
            Not shown: content of the type <Code text={part.type} />, {part.characters.toLocaleString('en')} characters
            of JSON
          </p>
        ),
      )}
      {parts.length === 0 && <p class="soft">The answer is empty.</p>}
      {isCut && (
        <p class="notice warn">
          <strong>This is the beginning only.</strong> The whole answer has {bytes.toLocaleString('en')} bytes.
        </p>
      )}
      <Facts
        rows={[
          ['Asked', <Code text={asked === '{}' ? tool : `${tool} with ${asked}`} />],
          ['At', <Instant at={at} />],
          ['Digest of the answer', <code class="digest">{digest}</code>],
        ]}
      />
    </>
  );
}

/** A foreign text in its own lines. Nothing in it is hidden, and it cannot change its surroundings. */
function TextLines({ text }: { text: string }) {
  const lines = text.split('\n').map(drawnLine);
  return (
    <>
      {lines.some(({ pieces }) => canMislead(pieces)) && (
        <p class="notice warn">
          <strong>Look closely.</strong> The preview contains invisible characters, or characters that look like others.
          They are marked.
        </p>
      )}
      <pre class="json preview" tabIndex={0} role="region" aria-label="What the server says">
        {lines.map(({ indent, pieces }, i) => (
          <span key={i} class="line d0">
            {indent}
            <Pieces pieces={pieces} kind="s" isDense={false} />
            {'\n'}
          </span>
        ))}
      </pre>
    </>
  );
}

/** Blanks at the beginning of a line are its indentation, unless they are so many that they push the text out of sight. */
function drawnLine(line: string): { readonly indent: string; readonly pieces: readonly Piece[] } {
  const length = line.length - line.trimStart().length;
  const indent = /^ *$/.test(line.slice(0, length)) && length < LONG_RUN ? line.slice(0, length) : '';
  // A tab is drawn as blanks: code and patches are full of them.
  const pieces = line
    .slice(indent.length)
    .split(/(\t)/)
    .flatMap((text): Piece[] => (text === '\t' ? [{ text, kind: 'blanks' }] : visiblePieces(text)));
  return { indent, pieces };
}
