import express, { type Request, type Response, type Router } from 'express';
import { csrfProtection } from '../../shared/http/csrf.ts';
import { refuseUnfaithful } from '../../shared/http/faithful-json.ts';
import { wantsPage } from '../../shared/pages/refusal-page.tsx';
import { WITHDRAWALS } from '../break-glass.ts';
import { breakGlass, requestPage, review, vote, withdrawal } from './actions.tsx';
import { approversOnly, voterOf, votersOnly } from './authenticate.ts';
import { decideBatch, showBatch } from './batch.tsx';
import { delegationsRouter } from './delegations.tsx';
import { figures } from './figures.tsx';
import { extendStage } from './extend.ts';
import { giveGrant } from './give-grant.ts';
import { grantsRouter } from './grants.tsx';
import { handOver } from './hand-over.ts';
import { list } from './list.tsx';
import { passkeysRouter } from './passkeys.tsx';
import { pushRouter } from './push.ts';
import { answerAsRequester, askRequester } from './questions.ts';
import { viewOf } from './arguments/arguments.tsx';
import { Row } from './row.tsx';
import { renderNamed } from './names.tsx';
import { retakePreview } from './retake-preview.ts';
import { findReadable, type InboxHttp, obstacleTo, previewsFor } from './seat.ts';
import { detailView } from './view.tsx';

const MAX_BODY = '64kb';

/** The approvers' inbox: pages for browsers, and JSON at the same addresses for programs. Expects the session before it. */
export function inboxRouter(http: InboxHttp): Router {
  const router = express.Router();
  const voter = votersOnly(http);
  const approver = [voter, approversOnly];
  router.get('/', (_request, response) => response.redirect(303, '/requests?status=yours'));
  router.get('/requests', voter, list(http));
  router.get('/requests/events', voter, http.changes);
  const parsed = [
    express.json({ limit: MAX_BODY, inflate: false, verify: refuseUnfaithful }),
    express.urlencoded({ limit: MAX_BODY, extended: false, inflate: false }),
    csrfProtection,
  ];
  router.get('/requests/batch', approver, showBatch(http));
  router.post('/requests/batch', approver, parsed, decideBatch(http));
  router.get('/requests/:id', voter, show(http));
  router.get('/requests/:id/row', voter, showRow(http));
  router.post('/requests/:id/votes', voter, parsed, vote(http));
  router.post('/requests/:id/extensions', approver, parsed, extendStage(http));
  router.post('/requests/:id/hand-overs', approver, parsed, handOver(http));
  router.post('/requests/:id/questions', approver, parsed, askRequester(http));
  router.post('/requests/:id/answers', approver, parsed, answerAsRequester(http));
  router.post('/requests/:id/break-glass', approver, parsed, breakGlass(http));
  router.post('/requests/:id/review', approver, parsed, review(http));
  for (const what of WITHDRAWALS) router.post(`/requests/:id/${what}`, approver, parsed, withdrawal(what, http));
  router.post('/requests/:id/preview', approver, parsed, retakePreview(http));
  router.use('/passkeys', approver, parsed, passkeysRouter(http));
  router.post('/requests/:id/grants', approver, parsed, giveGrant(http));
  router.use('/grants', approver, parsed, grantsRouter(http));
  router.get('/figures', approver, figures(http));
  router.use('/delegations', approver, parsed, delegationsRouter(http));
  if (http.mailbox !== undefined) router.get('/mailbox', approver, http.mailbox.show());
  if (http.push !== undefined) router.use('/push-subscriptions', approver, parsed, pushRouter(http.push));
  return router;
}

/** The row of one request, as its list would draw it now: for lists that it has left. */
function showRow(http: InboxHttp) {
  return async (request: Request, response: Response) => {
    const visitor = voterOf(response);
    const { request: found, broken } = await findReadable(http, visitor, String(request.params['id']));
    const listed = broken === undefined ? found : { ...found, emergency: { by: broken.grantedBy } };
    const row = <Row request={listed} template={http.summaries(found.tool)} visitor={visitor} alike={undefined} />;
    response.send(renderNamed(http, <ul>{row}</ul>));
  };
}

function show(http: InboxHttp) {
  return async (request: Request, response: Response) => {
    const visitor = voterOf(response);
    const reading = await findReadable(http, visitor, String(request.params['id']));
    if (!wantsPage(request)) {
      const shown = { broken: reading.broken, previews: await previewsFor(http, reading) };
      return void response.json({ request: detailView(reading.request, reading.seat, shown) });
    }
    if (visitor.via === 'inbox' && obstacleTo(reading.seat, reading.request) === undefined)
      await http.figures.noteOpening(reading.request.id, visitor.subject);
    response.send(await requestPage(http, request, { ...reading, view: viewOf(request.query['view']) }));
  };
}
