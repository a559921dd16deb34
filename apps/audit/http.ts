import { readFileSync } from 'node:fs';
import express, { type Express, type RequestHandler, Router } from 'express';
import type { Logger } from 'pino';
import { isDatabaseAway, isSealingKeyMissing } from '../../workflows/domain/errors.ts';
import { packagePath } from '../shared/config/files.ts';
import { healthRouter } from '../shared/http/health.ts';
import { pageHeaders } from '../shared/http/page-headers.ts';
import { Refusal } from '../shared/http/csrf.ts';
import type { Timing } from '../shared/limits.ts';
import type { Need } from '../shared/needs.ts';
import { asset, assetsRouter } from '../shared/pages/assets.ts';
import { refusalHandler } from '../shared/pages/refusal-page.tsx';
import type { RecordSource } from './record-view.ts';
import { listOutcomeRecords, recordRoutes } from './routes.tsx';

interface AuditHttp extends RecordSource, Timing {
  /** Sign-in of browsers: sessions, and the routes to the issuer and back. */
  readonly signIn: readonly RequestHandler[];
  /** Lets auditors through. */
  readonly auditorsOnly: RequestHandler;
  /** Public address. */
  readonly url: string;
  /** What the application needs. */
  readonly needs: readonly Need[];
  readonly log: Logger;
}

/** The auditors' pages and their API. Every address serves both, only reads, and answers only auditors. */
export function createAuditApp(http: AuditHttp): Express {
  const app = express();
  app.disable('x-powered-by');
  app.use(...pageHeaders(http.url));
  app.use(healthRouter(http.needs, http));
  app.use(auditAssets());
  for (const handler of http.signIn) app.use(handler);
  app.use(http.auditorsOnly, acceptable);
  app.get('/', (_request, response) => response.redirect('/outcome-records'));
  app.get('/outcome-records', listOutcomeRecords(http));
  app.use('/outcome-records', recordRoutes(http));
  app.use(() => {
    throw new Refusal(404, 'There is no such page', 'Check the address, or start from /outcome-records.');
  });
  const home = { href: '/outcome-records', label: 'To all outcome records' };
  app.use(refusalHandler({ section: 'Audit', log: http.log, inWords: (error) => refusalOf(error, http.log), home }));
  return app;
}

/** A caller that accepts neither a page nor JSON would misread either. @see RFC 9110, section 15.5.7 */
const acceptable: RequestHandler = (request, _response, next) => {
  if (request.accepts(['json', 'html']) !== false) return next();
  const nextStep = 'Accept a page (text/html) or JSON (application/json). Programs can convert the JSON.';
  throw new Refusal(406, 'This service answers with pages and JSON', nextStep);
};

/** The caller reads nothing about the cause of an error: the log says it. */
function refusalOf(error: unknown, log: Logger): Refusal {
  if (isSealingKeyMissing(error)) {
    log.error({ alarm: 'sealing_key_missing', err: error }, 'an outcome record cannot be opened');
    const nextStep =
      'It is sealed under a key that this application was not started with, which says nothing against the record. ' +
      'The log names the key. Try again when an operator has added it to COUNTERSIGN_RECORD_SEALING_KEYS.';
    return new Refusal(503, 'This record cannot be opened here', nextStep);
  }
  if (isDatabaseAway(error)) return new Refusal(503, 'The records cannot be read now', 'Try again in a few seconds.');
  const nextStep = 'Nothing was changed, and this says nothing about the record. Find the cause in the log.';
  return new Refusal(500, 'Something went wrong here', nextStep);
}

/** The files of all pages, and the style sheet of the audit pages. */
function auditAssets(): Router {
  const router = Router();
  router.get('/assets/audit.css', asset('css', readFileSync(packagePath('apps', 'audit', 'audit.css'), 'utf8')));
  return router.use(assetsRouter());
}
