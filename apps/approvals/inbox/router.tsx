import express, { type Request, type Response, type Router } from 'express';
import type { Logger } from 'pino';
import * as z from 'zod';
import { ACCESS_REQUEST_STATUSES, VERDICTS } from '../../../workflows/domain/access-request/access-request.ts';
import { csrfProtection, csrfTokenOf } from '../../shared/http/csrf.ts';
import { Refusal } from '../../shared/http/refusal.ts';
import { renderPage } from '../../shared/pages/layout.tsx';
import { wantsPage } from '../../shared/pages/refusal-page.tsx';
import { refuseUncounted, type CastVote } from '../cast-vote.ts';
import type { AccessRequestStore } from '../stores/access-request.store.ts';
import type { Withdraw } from '../withdraw.ts';
import { approversOnly, voterOf, votersOnly, type Doors, type Voter } from './authenticate.ts';
import { emergencyRouter } from './emergency-router.tsx';
import { delegationsRouter } from './delegations-router.tsx';
import { RequestList } from './list-page.tsx';
import { RequestPage } from './request-page.tsx';
import type { BreakGlass } from '../break-glass.ts';
import type { BreakGlassStore } from '../stores/break-glass.store.ts';
import type { StandIns } from '../stand-ins.ts';
import type { Delegation } from '../stores/delegation.store.ts';
import type { AccessRequestSummary } from '../stores/access-request.row.ts';
import { obstacleTo, standingIn, type Capacity, type Seat } from './seat.ts';
import { detailView, summaryView } from './view.ts';
import { withdrawalRouter } from './withdrawal.tsx';

/** Requests shown in one list. */
const LIST_LIMIT = 200;
/** Open requests that are looked through for those that a visitor may decide. */
const SCAN_LIMIT = 5_000;
const MAX_BODY = '64kb';

export interface InboxHttp extends Doors {
  readonly store: Pick<AccessRequestStore, 'find' | 'list'>;
  readonly castVote: CastVote;
  readonly delegations: StandIns;
  readonly withdraw: Withdraw;
  readonly breakGlass: BreakGlass;
  readonly brokenGlass: BreakGlassStore;
  readonly log: Logger;
}

/** The approvers' inbox: pages for browsers and the same addresses as JSON for programs. Needs the session before it. */
export function inboxRouter(http: InboxHttp): Router {
  const router = express.Router();
  const voter = votersOnly(http);
  const approver = [voter, approversOnly];
  router.get('/', (_request, response) => response.redirect(303, '/requests?status=yours'));
  router.get('/requests', voter, list(http));
  router.get('/requests/:id', voter, show(http));
  const parsed = [
    express.json({ limit: MAX_BODY, inflate: false }),
    express.urlencoded({ limit: MAX_BODY, extended: false, inflate: false }),
    csrfProtection,
  ];
  router.post('/requests/:id/votes', voter, parsed, vote(http));
  router.post(['/requests/:id/break-glass', '/requests/:id/review'], approver, parsed, emergencyRouter(http));
  router.use('/delegations', approver, parsed, delegationsRouter(http));
  router.use(withdrawalRouter({ approver, withdraw: http.withdraw }));
  return router;
}

const ENDED = ACCESS_REQUEST_STATUSES.filter((status) => status !== 'pending');
/** `yours`: pending, and the visitor may decide it. */
const CHOICES = [...ACCESS_REQUEST_STATUSES, 'ended', 'yours'] as const;
const listQuery = z.object({ status: z.enum(CHOICES).default('pending') });

/** An agent speaks for nobody else and grants nothing alone, whoever delegated to it. */
async function seatOf({ people, delegations, breakGlass }: InboxHttp, visitor: Voter): Promise<Seat> {
  const seat = { visitor, people: people() };
  if (visitor.via === 'agent') return { ...seat, mayBreakGlass: false, delegations: [] };
  const mayBreakGlass = breakGlass.mayBreak(visitor);
  return { ...seat, mayBreakGlass, delegations: await delegations.activeTo(visitor.subject) };
}

function list(http: InboxHttp) {
  const { store } = http;
  return async (request: Request, response: Response) => {
    const query = listQuery.safeParse(request.query);
    if (!query.success) {
      throw new Refusal(400, 'There is no such status', `Use one of: ${CHOICES.join(', ')}.`);
    }
    const { status } = query.data;
    const visitor = voterOf(request, response);
    const seat = await seatOf(http, visitor);
    const isDecidable = (one: AccessRequestSummary) => obstacleTo(seat, one) === undefined;
    const requests =
      status === 'yours'
        ? (await store.list(['pending'], SCAN_LIMIT)).filter(isDecidable).slice(0, LIST_LIMIT)
        : await store.list(status === 'ended' ? ENDED : [status], LIST_LIMIT);
    const unreviewed = await http.brokenGlass.unreviewed();
    if (!wantsPage(request)) return void response.json({ requests: requests.map(summaryView), unreviewed });
    const which = status === 'pending' || status === 'yours' ? status : 'ended';
    const props = {
      requests,
      unreviewed,
      which,
      limit: LIST_LIMIT,
      visitor,
      person: signedIn(request, visitor),
    } as const;
    response.send(renderPage(<RequestList {...props} />));
  };
}

function show(http: InboxHttp) {
  return async (request: Request, response: Response) => {
    const found = await http.store.find(idOf(request));
    if (found === undefined) return refuseUncounted('not_found', idOf(request));
    const visitor = voterOf(request, response);
    const [seat, broken] = await Promise.all([seatOf(http, visitor), http.brokenGlass.find(found.id)]);
    if (!wantsPage(request)) return void response.json({ request: detailView(found, seat, broken) });
    const props = { request: found, seat, broken, person: signedIn(request, visitor) };
    response.send(renderPage(<RequestPage {...props} />));
  };
}

const digest = z.string().regex(/^sha-256:[0-9a-f]{64}$/);
const voteBody = z.object({
  verdict: z.enum(VERDICTS),
  reason: z.string().max(2_000).optional(),
  callDigest: digest,
  generation: z.coerce.number().pipe(z.int32().min(1)).optional(),
  /** Subject in whose place the visitor votes. Default, and when empty: in their own name. */
  onBehalfOf: z.string().max(1_024).optional(),
  /** The stage that was looked at. */
  stage: z.coerce.number().pipe(z.int32().min(1)).optional(),
});

function vote(http: InboxHttp) {
  const { store, castVote } = http;
  return async (request: Request, response: Response) => {
    const visitor = voterOf(request, response);
    const body = voteBody.safeParse(request.body);
    if (!body.success) {
      throw new Refusal(
        400,
        'This is not a decision',
        'Send verdict (approve or deny), callDigest and, if you like, reason.',
      );
    }
    const { verdict, reason, callDigest, generation, stage, onBehalfOf } = body.data;
    const requestId = idOf(request);
    const { via, chain } = visitor;
    const ballot = { requestId, verdict, reason, callDigest, generation, stage, via, chain };
    const seat = await seatOf(http, visitor);
    const capacity = capacityOf(seat, onBehalfOf);
    if (capacity === undefined) return refuseUncounted('delegation_over', requestId);
    refuseUncounted(await castVote({ ...ballot, ...capacity }), requestId);
    // The page is read again from what is stored: it never says that a vote counted before it did.
    if (wantsPage(request)) return response.redirect(303, `/requests/${requestId}`);
    const found = await store.find(requestId);
    if (found !== undefined) response.json({ request: detailView(found, seat) });
  };
}

/** In whose name the visitor votes; undefined when they do not stand in for that person. */
function capacityOf({ visitor, delegations }: Seat, onBehalfOf: string | undefined): Capacity | undefined {
  const { issuer, subject, name, roles } = visitor;
  if (onBehalfOf === undefined || onBehalfOf === '') return { approver: { issuer, subject, name, roles } };
  const delegation = delegations.find(({ delegator }: Delegation) => delegator.subject === onBehalfOf);
  return delegation && standingIn(delegation, visitor);
}

const idOf = (request: Request) => String(request.params['id']);

const signedIn = (request: Request, visitor: Voter) => ({ name: visitor.name, csrfToken: csrfTokenOf(request) });
