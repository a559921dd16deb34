import { readFileSync } from 'node:fs';
import express, {
  type ErrorRequestHandler,
  type Express,
  type Request,
  type RequestHandler,
  type Response,
  Router,
} from 'express';
import type { Logger } from 'pino';
import { CountersignError, isDatabaseAway, isSealingKeyMissing } from '../../workflows/domain/errors.ts';
import { signInPath } from '../shared/auth/sign-in-path.ts';
import { packagePath } from '../shared/config/files.ts';
import { challenge, demandScopes } from '../shared/http/bearer.ts';
import { healthRouter, type Problems } from '../shared/http/health.ts';
import { pageHeaders } from '../shared/http/page-headers.ts';
import { Refusal } from '../shared/http/csrf.ts';
import type { Timing } from '../shared/limits.ts';
import { inLogScope } from '../shared/log-scope.ts';
import { asset, assetsRouter } from '../shared/pages/assets.ts';
import type { SignedIn } from '../shared/pages/layout.tsx';
import { wantsPage } from '../shared/pages/refusal-page.tsx';
import { createReply, type Reply } from './reply.tsx';
import type { RecordSource } from './record-view.ts';
import { listOutcomeRecords, recordRoutes } from './routes.tsx';

/** `csrfToken` of a person with a session, who can sign out. */
interface Person {
  readonly subject: string;
  readonly name: string;
  readonly csrfToken?: string;
}

/** The sender of a request, by a verified token or a session. */
export type Visitor =
  | ({ readonly kind: 'auditor' } & Person)
  | ({ readonly kind: 'not_auditor' } & Person)
  | { readonly kind: 'anonymous'; readonly problem?: 'invalid_token' | 'insufficient_scope' };

interface AuditHttp extends RecordSource, Timing {
  readonly identify: (request: Request) => Promise<Visitor>;
  /** Sign-in of browsers: sessions, and the routes to the issuer and back. */
  readonly signIn: readonly RequestHandler[];
  /** Style sheets and scripts of the pages. */
  readonly assets: RequestHandler;
  /** Public address, which is also the audience of tokens. */
  readonly url: string;
  /** Scopes that a token needs. */
  readonly scopes: readonly string[];
  /** Reasons why the application is not ready. */
  readonly problems: Problems;
  readonly log: Logger;
}

/** The auditors' pages and their API. Every address serves both, only reads, and answers only auditors. */
export function createAuditApp(http: AuditHttp): Express {
  const app = express();
  const reply = createReply(personOf);
  app.disable('x-powered-by');
  app.use(...pageHeaders(http.url));
  app.use(healthRouter(http.problems, http));
  app.use(http.assets);
  for (const handler of http.signIn) app.use(handler);
  app.use(auditorsOnly(http));
  app.use(acceptable);
  app.get('/', (_request, response) => response.redirect('/outcome-records'));
  app.get('/outcome-records', listOutcomeRecords(http, reply));
  app.use('/outcome-records', recordRoutes(http, reply));
  app.use(() => {
    throw new Refusal(404, 'There is no such page', 'Check the address, or start from /outcome-records.');
  });
  app.use(refusing(http.log, reply));
  return app;
}

/** The person with a session, whom the head of a page names. */
function personOf(response: Response): SignedIn | undefined {
  const { name, csrfToken } = (response.locals['person'] ?? {}) as Partial<Person>;
  return name === undefined || csrfToken === undefined ? undefined : { name, csrfToken };
}

function auditorsOnly({ identify, url, scopes }: AuditHttp): RequestHandler {
  return async (request, response, next) => {
    response.set('Vary', 'Accept, Authorization, Cookie');
    const visitor = await identify(request);
    if (visitor.kind !== 'anonymous') response.locals['person'] = visitor;
    if (visitor.kind === 'auditor') return inLogScope({ subject: visitor.subject }, next);
    if (visitor.kind === 'not_auditor') {
      const nextStep = 'Only people with the role “auditor” can read outcome records. Sign in as a person who has it.';
      throw new Refusal(403, 'You are not an auditor', nextStep);
    }
    if (visitor.problem === 'insufficient_scope')
      return demandScopes(response, { realm: url, held: [], needed: scopes });
    if (wantsPage(request)) return response.redirect(303, signInPath(request.originalUrl));
    challenge(response, url, visitor.problem);
    const nextStep = visitor.problem
      ? 'The bearer token is not valid: it may have expired, or be meant for another service.'
      : `Send a bearer token of an auditor whose audience is ${url}.`;
    throw new Refusal(401, 'You are not signed in', nextStep);
  };
}

/** A caller that accepts neither a page nor JSON would misread either. @see RFC 9110, section 15.5.7 */
const acceptable: RequestHandler = (request, _response, next) => {
  if (request.accepts(['json', 'html']) !== false) return next();
  const nextStep = 'Accept a page (text/html) or JSON (application/json). Programs can convert the JSON.';
  throw new Refusal(406, 'This service answers with pages and JSON', nextStep);
};

function refusing(log: Logger, reply: Reply): ErrorRequestHandler {
  return (error: unknown, request, response, next) => {
    if (response.headersSent) return next(error);
    reply.refuse(request, response, error instanceof Refusal ? error : refusalOf(error, log));
  };
}

/** An error of our own says nothing about its cause to the caller: the log does. */
function refusalOf(error: unknown, log: Logger): Refusal {
  if (error instanceof URIError) {
    return new Refusal(
      400,
      'This address cannot be read',
      'Check how it was copied: a % in it starts no valid escape.',
    );
  }
  if (isSealingKeyMissing(error)) {
    log.error({ alarm: 'sealing_key_missing', err: error }, 'an outcome record cannot be opened');
    const nextStep =
      'It is sealed under a key that this application was not started with, which says nothing against the record. ' +
      'The log names the key. Try again when an operator has added it to COUNTERSIGN_RECORD_SEALING_KEYS.';
    return new Refusal(503, 'This record cannot be opened here', nextStep);
  }
  log.error({ err: error }, 'an audit request failed');
  const tryAgain = 'Try again in a few seconds.';
  if (isDatabaseAway(error)) return new Refusal(503, 'The records cannot be read now', tryAgain);
  if (error instanceof CountersignError && error.code === 'ERR_IDENTITY_PROVIDER_UNAVAILABLE') {
    return new Refusal(503, 'The identity provider does not answer', tryAgain);
  }
  const nextStep = 'Nothing was changed, and this says nothing about the record. Find the cause in the log.';
  return new Refusal(500, 'Something went wrong here', nextStep);
}

/** The files of all pages, and the style sheet of the audit pages. */
export function auditAssets(): Router {
  const router = Router();
  router.get('/assets/audit.css', asset('css', readFileSync(packagePath('apps', 'audit', 'audit.css'), 'utf8')));
  return router.use(assetsRouter());
}
