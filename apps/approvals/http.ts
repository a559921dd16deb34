import express, { type Express, type RequestHandler, type Router } from 'express';
import type { Logger } from 'pino';
import { healthRouter, type Problems, traced } from '../shared/http/health.ts';
import { pageHeaders } from '../shared/http/page-headers.ts';
import type { Timing } from '../shared/limits.ts';
import { assetsRouter } from '../shared/pages/assets.ts';
import { nothingHere, refusalHandler } from '../shared/pages/refusal-page.tsx';

export interface ApprovalsHttp extends Timing {
  /** The API for enforcement points. */
  readonly accessRequests: Router;
  /** Signed decisions. */
  readonly decisions: Router;
  /** Sign-in of browsers, and their sessions. */
  readonly signIn: readonly RequestHandler[];
  readonly inbox: Router;
  readonly url: string;
  readonly problems: Problems;
  readonly log: Logger;
}

/** The access request service with its inbox. Routes for programs come before the session, which they do not have. */
export function createApprovalsApp(http: ApprovalsHttp): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.use(pageHeaders(http.url), traced);
  app.use(healthRouter(http.problems, http));
  app.use('/access/v1', http.accessRequests);
  app.use(http.decisions);
  app.use(assetsRouter());
  app.use(...http.signIn, http.inbox);
  app.use(nothingHere);
  app.use(refusalHandler({ section: 'Approvals', log: http.log }));
  return app;
}
