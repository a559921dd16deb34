import { canonicalJson, type JsonObject } from '../../../workflows/domain/canonical-json.ts';
import type { PreviewFault } from '../../../workflows/domain/tools/preview.ts';
import { Facts, Instant, Time } from '../../shared/pages/layout.tsx';
import { Code, Pieces, Visible } from '../../shared/pages/visible.tsx';
import { canMislead, LONG_RUN, type Piece, visiblePieces } from '../../shared/pages/visible-text.ts';
import type { ShownPreviews, TakenPreview } from '../access-requests/preview.ts';
import { DECIDING_FORMS } from './deciding-forms.ts';
import { useRequestAddress } from './near.tsx';

export const PREVIEW_FAULTS_IN_WORDS = {
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

interface PreviewSectionProps extends ShownPreviews {
  readonly requestId: string;
  readonly csrfToken: string;
}

/**
 * What the server of the tool says would happen, taken last. It is that server's word and not bound to the decision, so it is apart from the
 * call, and says so. The forms that decide send which preview is shown here.
 */
export function PreviewSection({ requestId, csrfToken, latest, earlier, canBeTaken }: PreviewSectionProps) {
  const { taken_at: at, fault, digest } = latest;
  return (
    <section class="card" aria-labelledby="preview">
      <h2 id="preview">Preview</h2>
      {fault === undefined ? (
        <Said preview={latest} before={earlier[0]} />
      ) : (
        <p>
          <strong>No preview.</strong> {PREVIEW_FAULTS_IN_WORDS[fault]} Decide by the call itself. (<Instant at={at} />)
        </p>
      )}
      {digest !== undefined &&
        DECIDING_FORMS.map((form) => <input key={form} type="hidden" name="preview" value={digest} form={form} />)}
      {earlier.length > 0 && <Earlier earlier={earlier} />}
      {canBeTaken && (
        <form method="post" action={useRequestAddress()(requestId, 'preview')}>
          <input type="hidden" name="csrfToken" value={csrfToken} />
          <button class="quiet" type="submit">
            Take the preview again
          </button>
        </form>
      )}
    </section>
  );
}

/** The previews before the latest: when, and at whose wish. */
const Earlier = ({ earlier }: Pick<ShownPreviews, 'earlier'>) => (
  <details>
    <summary>
      {earlier.length === 1 ? 'The earlier preview' : `The ${earlier.length.toLocaleString('en')} earlier previews`}
    </summary>
    {earlier.map(({ taken_at: at, askedBy, digest, fault }) => (
      <Facts
        key={at}
        rows={[
          ['At', <Instant at={at} />],
          ['Asked by', askedBy === undefined ? 'the gateway, when the call came' : <Visible text={askedBy} />],
          digest !== undefined && ['Digest of the answer', <code class="digest">{digest}</code>],
          fault !== undefined && ['No preview', PREVIEW_FAULTS_IN_WORDS[fault]],
        ]}
      />
    ))}
  </details>
);

/** Whether the server says the same as the time before. */
function Compared({ preview, before }: SaidProps) {
  if (before?.digest === undefined) return null;
  return before.digest === preview.digest ? (
    <p class="soft">
      The server says the same as at <Instant at={before.taken_at} />.
    </p>
  ) : (
    <p class="notice warn">
      The server says something else than at <Instant at={before.taken_at} />.
    </p>
  );
}

interface SaidProps {
  readonly preview: TakenPreview;
  readonly before: TakenPreview | undefined;
}

function Said({ preview, before }: SaidProps) {
  const { tool, arguments: fixed, taken_at: at, is_error: isError, digest, bytes = 0, parts, is_cut: isCut } = preview;
  const asked = canonicalJson(fixed as JsonObject);
  return (
    <>
      <p>
        This is what the server of the tool says would happen, at <Instant at={at} /> (<Time at={at} />
        ). It is the server’s word and was not checked. Your decision is about the call above.
      </p>
      <Compared preview={preview} before={before} />
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
          preview.askedBy !== undefined && ['Asked by', <Visible text={preview.askedBy} />],
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
