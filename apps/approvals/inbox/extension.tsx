import type { AccessRequest } from '../../../workflows/domain/access-request/access-request.ts';
import { Instant } from '../../shared/pages/layout.tsx';
import { LONGEST_TEXT, textFor, type Refused } from './refused.tsx';
import { extensionBy, type Seat } from './seat.ts';
import { useRequestAddress } from './near.tsx';

interface ExtensionFormProps {
  readonly request: AccessRequest;
  readonly seat: Seat;
  readonly csrfToken: string;
  readonly refused: Refused | undefined;
}

/** What the form proposes, if the stage allows that much. */
const USUAL_MINUTES = 60;

/** The form with which an approver gives the others of the open stage more time. Folded, since most requests need none. */
export function ExtensionForm({ request, seat, csrfToken, refused }: ExtensionFormProps) {
  const addressOf = useRequestAddress();
  const next = extensionBy(seat, request);
  const { stageEndsAt } = request;
  if (next === undefined || stageEndsAt === undefined) return null;
  const { number, maxMinutes } = next;
  const isRefused = refused?.typed.form === 'extension';
  return (
    <section class="card" aria-labelledby="extend">
      <details open={isRefused}>
        <summary id="extend">Give more time</summary>
        <form class="decision" method="post" action={addressOf(request.id, 'extensions')}>
          <input type="hidden" name="csrfToken" value={csrfToken} />
          <input type="hidden" name="stage" value={String(request.stage)} />
          <input type="hidden" name="number" value={String(number)} />
          <p>
            This stage ends <Instant at={stageEndsAt} />. More time decides nothing: it only moves this end, for all who
            decide. The request ends as before, <Instant at={request.expiresAt} />.
          </p>
          <Minutes max={maxMinutes} />
          <Reason typed={textFor('extension', refused)} />
          <div class="decision-buttons">
            <button type="submit">Move the end of the stage</button>
          </div>
        </form>
      </details>
    </section>
  );
}

const Minutes = ({ max }: { max: number }) => (
  <div>
    <label for="extension-minutes">Minutes more</label>
    <input
      type="number"
      id="extension-minutes"
      name="minutes"
      required
      min={1}
      max={max}
      value={Math.min(max, USUAL_MINUTES)}
      aria-describedby="extension-minutes-hint"
    />
    <p class="hint" id="extension-minutes-hint">
      At most {max.toLocaleString('en')}.
    </p>
  </div>
);

const Reason = ({ typed }: { typed: string | undefined }) => (
  <div>
    <label for="extension-reason">Reason for more time</label>
    <textarea
      id="extension-reason"
      name="reason"
      maxLength={LONGEST_TEXT}
      aria-describedby="extension-reason-hint"
      value={typed}
    />
    <p class="hint" id="extension-reason-hint">
      Optional. Approvers see it, and it is kept on record with your name.
    </p>
  </div>
);
