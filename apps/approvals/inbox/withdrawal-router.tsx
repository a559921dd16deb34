import express, { type Request, type RequestHandler, type Response, type Router } from 'express';
import * as z from 'zod';
import { csrfProtection, Refusal } from '../../shared/http/csrf.ts';
import { refuseUnfaithful } from '../../shared/http/faithful-json.ts';
import { wantsPage } from '../../shared/pages/refusal-page.tsx';
import { type Withdraw, type Withdrawal, WITHDRAWALS } from '../break-glass.ts';
import { visitorOf } from './authenticate.ts';
import { orComeBack } from './come-back.tsx';
import { findReadable, type ReadingHttp } from './seat.ts';
import { typedText } from './typed-text.ts';

const MAX_BODY = '16kb';

export interface WithdrawalHttp extends ReadingHttp {
  readonly withdraw: Withdraw;
}

const bodySchema = z.object({ reason: typedText.optional() }).optional();

/** `POST /requests/{id}/cancel` and `/revoke`. `approver` lets only approvers through. */
export function withdrawalRouter(http: WithdrawalHttp, approver: RequestHandler[]): Router {
  const router = express.Router();
  const read = [
    express.json({ limit: MAX_BODY, inflate: false, verify: refuseUnfaithful }),
    express.urlencoded({ limit: MAX_BODY, extended: false, inflate: false }),
  ];
  for (const what of WITHDRAWALS) {
    router.post(`/requests/:id/${what}`, approver, read, csrfProtection, handle(what, http));
  }
  return router;
}

function handle(what: Withdrawal, http: WithdrawalHttp) {
  return async (request: Request, response: Response) => {
    const person = visitorOf(request, response);
    const body = bodySchema.safeParse(request.body);
    if (!body.success) throw new Refusal(400, 'The reason is not valid', 'Send a text of at most 2,000 characters.');
    const requestId = String(request.params['id']);
    const reason = body.data?.reason;
    await orComeBack(http, { request, response, requestId }, { form: 'withdrawal', text: reason }, async () => {
      await findReadable(http, person, requestId);
      await http.withdraw({ requestId, person, what, reason, via: person.via });
      if (wantsPage(request)) return response.redirect(303, `/requests/${encodeURIComponent(requestId)}`);
      response.json({ outcome: what === 'cancel' ? 'cancelled' : 'revoked', request: { id: requestId } });
    });
  };
}
