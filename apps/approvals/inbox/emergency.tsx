import { Time } from '../../shared/pages/layout.tsx';
import { Code, Visible } from '../../shared/pages/visible.tsx';
import type { Page } from '../../shared/database/pages.ts';
import { useRequestAddress } from './near.tsx';
import { PageLinks } from './paging.tsx';
import { type FormProps, LONGEST_TEXT } from './refused.tsx';
import type { BrokenGlass } from '../stores/break-glass.store.ts';

/** Grants without the stages, for the people who may. It is collapsed, so that it is not mistaken for the usual form. */
export function BreakGlassForm({ request, csrfToken, typed }: FormProps) {
  return (
    <section class="card" aria-labelledby="emergency">
      <details open={typed !== undefined}>
        <summary>
          <h2 id="emergency">Emergency</h2>
        </summary>
        <form class="decision" method="post" action={useRequestAddress()(request.id, 'break-glass')} data-decides>
          <input type="hidden" name="csrfToken" value={csrfToken} />
          <input type="hidden" name="callDigest" value={request.callDigest} />
          <input type="hidden" name="generation" value={String(request.generation)} />
          <p>
            You can grant this alone and immediately. It raises an alarm, all approvers see it, and another one reviews
            it.
          </p>
          <div>
            <label for="emergency-reason">Why it cannot wait</label>
            <textarea id="emergency-reason" name="reason" required maxLength={LONGEST_TEXT} value={typed} />
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

interface EmergencyProps {
  readonly broken: BrokenGlass;
  /** Undefined for those who cannot review it. */
  readonly csrfToken: string | undefined;
  readonly typed: string | undefined;
}

/** Shows an emergency grant with its reason and its review, or the form for that review. */
export function EmergencyNotice({ broken, csrfToken, typed }: EmergencyProps) {
  const addressOf = useRequestAddress();
  const { grantedBy, reason, at, review } = broken;
  return (
    <div class={`notice ${review === undefined ? 'bad' : 'warn'}`} role="status">
      <strong>
        Granted in an emergency by <Visible text={grantedBy} /> <Time at={at} />, without its approvers.
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
      {review === undefined && csrfToken === undefined && <p>Another approver has to review it.</p>}
      {review === undefined && csrfToken !== undefined && (
        <form class="decision" method="post" action={addressOf(broken.requestId, 'review')}>
          <input type="hidden" name="csrfToken" value={csrfToken} />
          <div>
            <label for="note">Your findings</label>
            <textarea id="note" name="note" maxLength={LONGEST_TEXT} value={typed} />
          </div>
          <div>
            <button type="submit">Mark as reviewed</button>
          </div>
        </form>
      )}
    </div>
  );
}

interface UnreviewedProps {
  readonly unreviewed: Page<BrokenGlass> & { readonly count: number };
  readonly parameters: Readonly<Record<string, string | undefined>>;
  readonly isFolded: boolean;
}

/** Emergency grants without a review, shown above every list. Above requests, they are folded to one line. */
export function Unreviewed({ unreviewed, parameters, isFolded }: UnreviewedProps) {
  const { rows, count } = unreviewed;
  if (rows.length === 0) return null;
  return (
    <section class="notice bad above-list" aria-labelledby="unreviewed">
      <details open={!isFolded}>
        <summary>
          <strong id="unreviewed">Emergency grants that need a review: {count.toLocaleString('en')}</strong>
        </summary>
        <ul>
          {rows.map(({ requestId, tool, grantedBy, at }) => (
            <li key={requestId}>
              <a href={`/requests/${requestId}`}>
                <Code text={tool} />
              </a>{' '}
              by <Visible text={grantedBy} /> <Time at={at} />
            </li>
          ))}
        </ul>
        <PageLinks
          page={unreviewed}
          of="emergency grants"
          path="/requests"
          parameters={parameters}
          name="unreviewedCursor"
        />
      </details>
    </section>
  );
}
