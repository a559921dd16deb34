import type { AccessRequest } from '../../../workflows/domain/access-request/access-request.ts';
import { Time } from '../../shared/pages/time.tsx';
import { Code, Visible } from '../../shared/pages/visible.tsx';
import type { BrokenGlass } from '../stores/break-glass.store.ts';

interface FormProps {
  readonly request: AccessRequest;
  readonly csrfToken: string;
}

/** For those who may: the way past the stages, folded away, so that nobody takes it for the ordinary one. */
export function BreakGlassForm({ request, csrfToken }: FormProps) {
  return (
    <section class="card" aria-labelledby="emergency">
      <details>
        <summary>
          <h2 id="emergency">Emergency</h2>
        </summary>
        <form class="decision" method="post" action={`/requests/${request.id}/break-glass`} data-decides>
          <input type="hidden" name="csrfToken" value={csrfToken} />
          <input type="hidden" name="callDigest" value={request.callDigest} />
          <input type="hidden" name="generation" value={String(request.generation)} />
          <p>
            You may grant this alone and at once. An alarm goes off, all approvers see it, and somebody else reviews it.
          </p>
          <div>
            <label for="emergency-reason">Why it cannot wait</label>
            <textarea id="emergency-reason" name="reason" required maxLength={2_000} />
          </div>
          <div class="decision-buttons">
            <button class="deny" type="submit">
              Grant without the approvers
            </button>
          </div>
        </form>
      </details>
    </section>
  );
}

/** That a request was granted in an emergency, why, and whether somebody looked at that; and the form to say that one did. */
export function EmergencyNotice({ broken, csrfToken }: { broken: BrokenGlass; csrfToken: string | undefined }) {
  const { grantedBy, reason, at, review } = broken;
  return (
    <div class={`notice ${review === undefined ? 'bad' : 'warn'}`} role="status">
      <strong>
        Granted in an emergency by <Visible text={grantedBy} /> <Time at={at} />, past its approvers.
      </strong>
      <p>
        “<Visible text={reason} />”
      </p>
      {review !== undefined && (
        <p>
          Reviewed by <Visible text={review.by} /> <Time at={review.at} />
          {review.note !== undefined && (
            <>
              : “<Visible text={review.note} />”
            </>
          )}
        </p>
      )}
      {review === undefined && csrfToken === undefined && <p>Somebody else has to review it.</p>}
      {review === undefined && csrfToken !== undefined && (
        <form class="decision" method="post" action={`/requests/${broken.requestId}/review`}>
          <input type="hidden" name="csrfToken" value={csrfToken} />
          <div>
            <label for="note">What you found</label>
            <textarea id="note" name="note" maxLength={2_000} />
          </div>
          <div>
            <button type="submit">Mark as reviewed</button>
          </div>
        </form>
      )}
    </div>
  );
}

/** What was granted in an emergency and nobody has reviewed: above every list. */
export function Unreviewed({ unreviewed }: { unreviewed: readonly BrokenGlass[] }) {
  if (unreviewed.length === 0) return null;
  return (
    <section class="notice bad" aria-labelledby="unreviewed">
      <strong id="unreviewed">Granted in an emergency, and not reviewed yet</strong>
      <ul>
        {unreviewed.map(({ requestId, tool, grantedBy, at }) => (
          <li key={requestId}>
            <a href={`/requests/${requestId}`}>
              <Code text={tool} />
            </a>{' '}
            by <Visible text={grantedBy} /> <Time at={at} />
          </li>
        ))}
      </ul>
    </section>
  );
}
