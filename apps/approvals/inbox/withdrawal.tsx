import type { AccessRequest } from '../../../workflows/domain/access-request/access-request.ts';
import { Time, usePageTime } from '../../shared/pages/layout.tsx';
import { Visible } from '../../shared/pages/visible.tsx';
import { type FormProps, LONGEST_TEXT } from './refused.tsx';
import type { Withdrawal } from '../break-glass.ts';
import { useRequestAddress } from './near.tsx';
import type { Reading } from './seat.ts';
import { withdrawalBy } from './withdrawals.ts';
import { wordsOf } from './view.tsx';

const WORDS = {
  cancel: {
    title: 'Cancel this request',
    button: 'Cancel request',
    reason: 'Reason for cancelling',
    hint: 'cancelled',
  },
  revoke: {
    title: 'Revoke this approval',
    button: 'Revoke approval',
    reason: 'Reason for revoking',
    hint: 'revoked',
  },
} as const satisfies Record<Withdrawal, object>;

/** The form that cancels the request or revokes its approval, or who revoked it. */
export function WithdrawalForm({
  request,
  seat,
  broken,
  csrfToken,
  typed,
}: FormProps & Pick<Reading, 'seat' | 'broken'>) {
  const addressOf = useRequestAddress();
  const now = usePageTime();
  const revoked = request.approval?.revoked;
  if (revoked !== undefined) return <Revoked {...revoked} />;
  const what = withdrawalBy({ seat, request, broken }, now);
  if (what === undefined) return null;
  const { title, button, reason, hint } = WORDS[what];
  return (
    <section class="card" aria-labelledby="withdraw">
      <h2 id="withdraw">{title}</h2>
      <form class="decision" method="post" action={addressOf(request.id, what)}>
        <input type="hidden" name="csrfToken" value={csrfToken} />
        <div>
          <label for="withdraw-reason">{reason}</label>
          <textarea id="withdraw-reason" name="reason" maxLength={LONGEST_TEXT} value={typed} />
        </div>
        <div class="decision-buttons">
          <button class="deny" type="submit">
            {button}
          </button>
        </div>
        <p class="hint">{wordsOf(request)[hint]}</p>
      </form>
    </section>
  );
}

function Revoked({ at, by, reason }: NonNullable<NonNullable<AccessRequest['approval']>['revoked']>) {
  return (
    <div class="notice bad" role="status">
      <strong>
        <Visible text={by} /> revoked this approval <Time at={at} />.
      </strong>
      {reason !== undefined && (
        <p>
          “<Visible text={reason} />”
        </p>
      )}
    </div>
  );
}
