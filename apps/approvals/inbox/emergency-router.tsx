import express, { type Request, type Response, type Router } from 'express';
import * as z from 'zod';
import { Refusal } from '../../shared/http/csrf.ts';
import { wantsPage } from '../../shared/pages/refusal-page.tsx';
import type { BreakGlass } from '../break-glass.ts';
import { refuseUncounted } from '../cast-vote.ts';
import { singleLine } from '../access-requests/problem.ts';
import type { BreakGlassStore } from '../stores/break-glass.store.ts';
import { visitorOf } from './authenticate.ts';
import { orComeBack } from './come-back.tsx';
import { findReadable, type ReadingHttp } from './seat.ts';
import { typedText } from './typed-text.ts';

export interface EmergencyHttp extends ReadingHttp {
  readonly breakGlass: BreakGlass;
  readonly brokenGlass: BreakGlassStore;
}

/** Emergency grants and their review. Expects the visitor, parsed bodies and the CSRF check before it. */
export function emergencyRouter(http: EmergencyHttp): Router {
  const router = express.Router();
  router.post('/requests/:id/break-glass', grant(http));
  router.post('/requests/:id/review', review(http));
  return router;
}

const grantBody = z.object({
  reason: typedText,
  callDigest: z.string().regex(/^sha-256:[0-9a-f]{64}$/),
  generation: z.coerce.number().pipe(z.int32().min(1)).optional(),
});

function grant(http: EmergencyHttp) {
  return async (request: Request, response: Response) => {
    const visitor = visitorOf(request, response);
    const { issuer, subject, name, roles, via, chain } = visitor;
    const body = grantBody.safeParse(request.body);
    const requestId = String(request.params['id']);
    const back = { href: `/requests/${encodeURIComponent(requestId)}`, label: 'Open the request' };
    if (!body.success) throw new Refusal(400, 'The emergency grant is incomplete', 'Send reason and callDigest.', back);
    const { reason, callDigest, generation } = body.data;
    const ballot = {
      requestId,
      approver: { issuer, subject, name, roles },
      reason,
      callDigest,
      generation,
      via,
      chain,
    };
    const typed = { form: 'break-glass', text: reason } as const;
    await orComeBack(http, { request, response, requestId }, typed, async () => {
      // People who may break glass can read every open request. One that ended meanwhile gets its own refusal below.
      if (!http.breakGlass.mayBreak(visitor)) await findReadable(http, visitor, requestId);
      const outcome = await http.breakGlass.grant(ballot);
      if (outcome === 'reason_missing')
        throw new Refusal(400, 'The reason is missing', 'Say why it cannot wait.', back);
      refuseUncounted(outcome, requestId);
      answer(request, response, requestId);
    });
  };
}

const reviewBody = z.object({ note: typedText.optional() });

const REFUSALS = {
  not_found: [404, 'There is nothing to review', 'This request was not granted in an emergency.'],
  own_request: [
    403,
    'You cannot review this grant',
    'You granted or requested it, or stand in for a person who did. Another approver has to review it.',
  ],
  already_reviewed: [409, 'It was already reviewed', 'Open the request to see who reviewed it.'],
} as const;

function review(http: EmergencyHttp) {
  return async (request: Request, response: Response) => {
    const visitor = visitorOf(request, response);
    const requestId = String(request.params['id']);
    const body = reviewBody.safeParse(request.body ?? {});
    const back = { href: `/requests/${encodeURIComponent(requestId)}`, label: 'Open the request' };
    if (!body.success)
      throw new Refusal(400, 'The note is not valid', 'Send a text of at most 2,000 characters.', back);
    const { note } = body.data;
    await orComeBack(http, { request, response, requestId }, { form: 'review', text: note }, async () => {
      await findReadable(http, visitor, requestId);
      const outcome = await http.brokenGlass.review(requestId, visitor, singleLine(note));
      if (outcome !== 'reviewed') {
        const [status, title, nextStep] = REFUSALS[outcome];
        throw new Refusal(status, title, nextStep, back);
      }
      http.log.info({ accessRequest: requestId }, 'an emergency grant was reviewed');
      answer(request, response, requestId);
    });
  };
}

function answer(request: Request, response: Response, requestId: string): void {
  if (wantsPage(request)) response.redirect(303, `/requests/${encodeURIComponent(requestId)}`);
  else response.json({ id: requestId });
}
