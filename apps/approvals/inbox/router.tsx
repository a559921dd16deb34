import express, { type Request, type Response, type Router } from 'express';
import * as z from 'zod';
import {
  ACCESS_REQUEST_STATUSES,
  VERDICTS,
  type AccessRequestStatus,
} from '../../../workflows/domain/access-request/access-request.ts';
import { csrfProtection, csrfTokenOf } from '../../shared/http/csrf.ts';
import { Refusal } from '../../shared/http/refusal.ts';
import { renderPage } from '../../shared/pages/layout.tsx';
import { wantsPage } from '../../shared/pages/refusal-page.tsx';
import { refuseUncounted, type CastVote } from '../cast-vote.ts';
import type { AccessRequestStore } from '../stores/access-request.store.ts';
import { approversOnly, visitorOf, type VerifyAccessToken, type Visitor } from './authenticate.ts';
import { RequestList } from './list-page.tsx';
import { RequestPage } from './request-page.tsx';
import { detailView, summaryView } from './view.ts';

/** Requests shown in one list. */
const LIST_LIMIT = 200;
const MAX_BODY = '64kb';

export interface InboxHttp {
  readonly store: Pick<AccessRequestStore, 'find' | 'list'>;
  readonly castVote: CastVote;
  readonly verifyAccessToken: VerifyAccessToken;
  /** Public address, which is also the audience of approvers' tokens. */
  readonly url: string;
}

/** The approvers' inbox: pages for browsers and the same addresses as JSON for programs. Needs the session before it. */
export function inboxRouter(http: InboxHttp): Router {
  const router = express.Router();
  const approver = approversOnly(http.verifyAccessToken, http.url);
  router.get('/', (_request, response) => response.redirect(303, '/requests'));
  router.get('/requests', approver, list(http));
  router.get('/requests/:id', approver, show(http));
  router.post(
    '/requests/:id/votes',
    approver,
    express.json({ limit: MAX_BODY, inflate: false }),
    express.urlencoded({ limit: MAX_BODY, extended: false, inflate: false }),
    csrfProtection,
    vote(http),
  );
  return router;
}

const ENDED = ACCESS_REQUEST_STATUSES.filter((status) => status !== 'pending');
const listQuery = z.object({ status: z.enum([...ACCESS_REQUEST_STATUSES, 'ended']).default('pending') });

function list({ store }: InboxHttp) {
  return async (request: Request, response: Response) => {
    const query = listQuery.safeParse(request.query);
    if (!query.success) {
      throw new Refusal(
        400,
        'There is no such status',
        `Use one of: ${[...ACCESS_REQUEST_STATUSES, 'ended'].join(', ')}.`,
      );
    }
    const { status } = query.data;
    const wanted: readonly AccessRequestStatus[] = status === 'ended' ? ENDED : [status];
    const requests = await store.list(wanted, LIST_LIMIT);
    if (!wantsPage(request)) return void response.json({ requests: requests.map(summaryView) });
    const which = status === 'pending' ? 'pending' : 'ended';
    const visitor = visitorOf(request, response);
    const props = { requests, which, limit: LIST_LIMIT, visitor, person: signedIn(request, visitor) } as const;
    response.send(renderPage(<RequestList {...props} />));
  };
}

function show({ store }: InboxHttp) {
  return async (request: Request, response: Response) => {
    const found = await store.find(idOf(request));
    if (found === undefined) refuseUncounted('not_found', idOf(request));
    else await answer(request, response, found);
  };
}

async function answer(
  request: Request,
  response: Response,
  found: NonNullable<Awaited<ReturnType<AccessRequestStore['find']>>>,
) {
  const visitor = visitorOf(request, response);
  if (!wantsPage(request)) return void response.json({ request: detailView(found, visitor) });
  response.send(renderPage(<RequestPage request={found} visitor={visitor} person={signedIn(request, visitor)} />));
}

const digest = z.string().regex(/^sha-256:[0-9a-f]{64}$/);
const voteBody = z.object({
  verdict: z.enum(VERDICTS),
  reason: z.string().max(2_000).optional(),
  callDigest: digest,
  generation: z.coerce.number().pipe(z.int32().min(1)).optional(),
});

function vote({ store, castVote }: InboxHttp) {
  return async (request: Request, response: Response) => {
    const visitor = visitorOf(request, response);
    const body = voteBody.safeParse(request.body);
    if (!body.success) {
      throw new Refusal(
        400,
        'This is not a decision',
        'Send verdict (approve or deny), callDigest and, if you like, reason.',
      );
    }
    const { verdict, reason, callDigest, generation } = body.data;
    const requestId = idOf(request);
    const approver = { issuer: visitor.issuer, subject: visitor.subject, roles: visitor.roles };
    const via = visitor.via;
    const outcome = await castVote({ requestId, approver, verdict, reason, callDigest, generation, via });
    refuseUncounted(outcome, requestId);
    // The page is read again from what is stored: it never says that a vote counted before it did.
    if (wantsPage(request)) return response.redirect(303, `/requests/${requestId}`);
    const found = await store.find(requestId);
    if (found !== undefined) response.json({ request: detailView(found, visitor) });
  };
}

const idOf = (request: Request) => String(request.params['id']);

const signedIn = (request: Request, visitor: Visitor) => ({ name: visitor.name, csrfToken: csrfTokenOf(request) });
