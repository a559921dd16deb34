import express, { type Request, type Response, type Router } from 'express';
import type { Logger } from 'pino';
import type { Clock } from '../../shared/clock.ts';
import { csrfProtection, csrfTokenOf } from '../../shared/http/csrf.ts';
import { refuseUnfaithful } from '../../shared/http/faithful-json.ts';
import { renderPage } from '../../shared/pages/layout.tsx';
import { wantsPage } from '../../shared/pages/refusal-page.tsx';
import type { BreakGlass, Withdraw } from '../break-glass.ts';
import type { CastVote } from '../cast-vote.ts';
import type { AccessRequestStore } from '../stores/access-request.store.ts';
import type { BreakGlassStore } from '../stores/break-glass.store.ts';
import type { StandIns } from '../stand-ins.ts';
import { approversOnly, voterOf, votersOnly, type Doors } from './authenticate.ts';
import { delegationsRouter } from './delegations.tsx';
import { emergencyRouter } from './emergency-router.tsx';
import { list } from './list.tsx';
import { findReadable } from './seat.ts';
import { RequestPage } from './request-page.tsx';
import { detailView } from './view.tsx';
import { vote } from './vote.tsx';
import { withdrawalRouter } from './withdrawal-router.tsx';

const MAX_BODY = '64kb';

export interface InboxHttp extends Doors {
  readonly store: Pick<AccessRequestStore, 'find' | 'list'>;
  readonly castVote: CastVote;
  readonly delegations: StandIns;
  readonly withdraw: Withdraw;
  readonly breakGlass: BreakGlass;
  readonly brokenGlass: BreakGlassStore;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The approvers' inbox: pages for browsers, and JSON at the same addresses for programs. Expects the session before it. */
export function inboxRouter(http: InboxHttp): Router {
  const router = express.Router();
  const voter = votersOnly(http);
  const approver = [voter, approversOnly];
  router.get('/', (_request, response) => response.redirect(303, '/requests?status=yours'));
  router.get('/requests', voter, list(http));
  router.get('/requests/:id', voter, show(http));
  const parsed = [
    express.json({ limit: MAX_BODY, inflate: false, verify: refuseUnfaithful }),
    express.urlencoded({ limit: MAX_BODY, extended: false, inflate: false }),
    csrfProtection,
  ];
  router.post('/requests/:id/votes', voter, parsed, vote(http));
  router.post(['/requests/:id/break-glass', '/requests/:id/review'], approver, parsed, emergencyRouter(http));
  router.use('/delegations', approver, parsed, delegationsRouter(http));
  router.use(withdrawalRouter(http, approver));
  return router;
}

function show(http: InboxHttp) {
  return async (request: Request, response: Response) => {
    const visitor = voterOf(request, response);
    const reading = await findReadable(http, visitor, String(request.params['id']));
    if (!wantsPage(request)) {
      return void response.json({ request: detailView(reading.request, reading.seat, reading.broken) });
    }
    const person = { name: visitor.name, csrfToken: csrfTokenOf(request) };
    response.send(renderPage(<RequestPage {...reading} person={person} />, http.clock.now()));
  };
}
