import express, { type Request, type RequestHandler, type Response, type Router } from 'express';
import * as z from 'zod';
import type { AccessRequest } from '../../../workflows/domain/access-request/access-request.ts';
import { csrfProtection } from '../../shared/http/csrf.ts';
import { Refusal } from '../../shared/http/refusal.ts';
import { Time } from '../../shared/pages/time.tsx';
import { Visible } from '../../shared/pages/visible.tsx';
import { wantsPage } from '../../shared/pages/refusal-page.tsx';
import { WITHDRAWALS, type Withdraw, type Withdrawal } from '../withdraw.ts';
import { visitorOf } from './authenticate.ts';
import { wordsOf } from './words.tsx';

const MAX_BODY = '16kb';
const bodySchema = z.object({ reason: z.string().max(2_000).optional() }).optional();

/** `POST /requests/{id}/cancel` and `/revoke`, for pages and programs. `approver` lets approvers through and nobody else. */
export function withdrawalRouter({ approver, withdraw }: { approver: RequestHandler[]; withdraw: Withdraw }): Router {
  const router = express.Router();
  const read = [
    express.json({ limit: MAX_BODY, inflate: false }),
    express.urlencoded({ limit: MAX_BODY, extended: false, inflate: false }),
  ];
  for (const what of WITHDRAWALS) {
    router.post(`/requests/:id/${what}`, approver, read, csrfProtection, handle(what, withdraw));
  }
  return router;
}

function handle(what: Withdrawal, withdraw: Withdraw) {
  return async (request: Request, response: Response) => {
    const person = visitorOf(request, response);
    const body = bodySchema.safeParse(request.body);
    if (!body.success) throw new Refusal(400, 'This reason cannot be kept', 'Send a text of at most 2,000 characters.');
    const requestId = String(request.params['id']);
    await withdraw({ requestId, person, what, reason: body.data?.reason, via: person.via });
    if (wantsPage(request)) return response.redirect(303, `/requests/${encodeURIComponent(requestId)}`);
    response.json({ outcome: what === 'cancel' ? 'cancelled' : 'revoked', request: { id: requestId } });
  };
}

const WORDS = {
  cancel: {
    title: 'Cancel this request',
    button: 'Cancel request',
    hint: 'cancelled',
  },
  revoke: {
    title: 'Revoke this approval',
    button: 'Revoke approval',
    hint: 'revoked',
  },
} as const satisfies Record<Withdrawal, object>;

/** The form that takes back what can be taken back, or who did it. */
export function WithdrawalForm({
  request,
  csrfToken,
}: {
  readonly request: AccessRequest;
  readonly csrfToken: string;
}) {
  const revoked = request.approval?.revoked;
  if (revoked !== undefined) return <Revoked {...revoked} />;
  const what = possible(request);
  if (what === undefined) return null;
  const { title, button, hint } = WORDS[what];
  return (
    <section class="card" aria-labelledby="withdraw">
      <h2 id="withdraw">{title}</h2>
      <form class="decision" method="post" action={`/requests/${request.id}/${what}`}>
        <input type="hidden" name="csrfToken" value={csrfToken} />
        <div>
          <label for="withdraw-reason">Reason for that</label>
          <textarea id="withdraw-reason" name="reason" maxLength={2_000} />
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

function possible({ status, approval }: AccessRequest): Withdrawal | undefined {
  if (status === 'pending') return 'cancel';
  return approval !== undefined && Date.parse(approval.approvedUntil) > Date.now() ? 'revoke' : undefined;
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
