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
import { BadQuery } from './filters.ts';
import { createReply, type Problem, type Reply } from './reply.tsx';
import type { RecordSource } from './record-view.ts';
import { listOutcomeRecords, recordRoutes } from './routes.tsx';

/** `csrfToken` for those who have a session, and so can sign out. */
interface Person {
  readonly subject: string;
  readonly name: string;
  readonly csrfToken?: string;
}

/** Who asks, as a verified token or a session says. */
export type Visitor =
  | ({ readonly kind: 'auditor' } & Person)
  /** Somebody, but no auditor. */
  | ({ readonly kind: 'stranger' } & Person)
  | { readonly kind: 'nobody'; readonly problem?: 'invalid_token' | 'insufficient_scope' };

interface AuditHttp extends RecordSource, Timing {
  readonly identify: (request: Request) => Promise<Visitor>;
  /** Sign-in of browsers: sessions, and the routes that lead to the issuer and back. */
  readonly signIn: readonly RequestHandler[];
  /** Files that pages are made with. */
  readonly assets: RequestHandler;
  /** Public address, which is also the audience of tokens. */
  readonly url: string;
  /** Scopes that a token needs. */
  readonly scopes: readonly string[];
  /** What keeps it from its work. */
  readonly problems: Problems;
  readonly log: Logger;
}

/** The auditors' pages and their API: every address answers both, reads only, and answers auditors only. */
export function createAuditApp(http: AuditHttp): Express {
  const app = express();
  const reply = createReply(personOf);
  app.disable('x-powered-by');
  app.use(...pageHeaders(http.url));
  app.use(healthRouter(http.problems, http));
  app.use(http.assets);
  for (const handler of http.signIn) app.use(handler);
  app.use(auditorsOnly(http, reply));
  app.use(answerable(reply));
  app.get('/', (_request, response) => response.redirect('/outcome-records'));
  app.get('/outcome-records', listOutcomeRecords(http, reply));
  app.use('/outcome-records', recordRoutes(http, reply));
  app.use((request, response) => reply.problem(request, response, { status: 404, title: 'There is no such page' }));
  app.use(toProblem(http.log, reply));
  return app;
}

/** Whom the head of a page names: somebody with a session. */
function personOf(response: Response): SignedIn | undefined {
  const { name, csrfToken } = (response.locals['person'] ?? {}) as Partial<Person>;
  return name === undefined || csrfToken === undefined ? undefined : { name, csrfToken };
}

function auditorsOnly({ identify, url, scopes }: AuditHttp, reply: Reply): RequestHandler {
  return async (request, response, next) => {
    response.set('Vary', 'Accept, Authorization, Cookie');
    const visitor = await identify(request);
    if (visitor.kind !== 'nobody') response.locals['person'] = visitor;
    if (visitor.kind === 'auditor') return inLogScope({ subject: visitor.subject }, next);
    if (visitor.kind === 'stranger') {
      const detail = 'Outcome records are for those with the role “auditor”. Come back as somebody who has it.';
      return reply.problem(request, response, { status: 403, title: 'You are not an auditor', detail });
    }
    if (visitor.problem === 'insufficient_scope')
      return demandScopes(response, { realm: url, held: [], needed: scopes });
    if (reply.wantsPage(request)) {
      return response.redirect(303, signInPath(request.originalUrl));
    }
    challenge(response, url, visitor.problem);
    reply.problem(request, response, {
      status: 401,
      title: 'Nobody is signed in',
      detail: visitor.problem
        ? 'The bearer token is not valid: it may have expired, or be meant for another service.'
        : `Send a bearer token of an auditor whose audience is ${url}.`,
    });
  };
}

/** Whoever takes neither a page nor JSON would take the one for what they asked for. @see RFC 9110, section 15.5.7 */
function answerable(reply: Reply): RequestHandler {
  return (request, response, next) => {
    if (request.accepts(['json', 'html']) !== false) return next();
    const detail =
      'Every address here answers a page (text/html) or JSON (application/json): ask for one of them. Programs turn the JSON into other forms.';
    reply.problem(request, response, { status: 406, title: 'There are pages and JSON here', detail });
  };
}

/** A fault of ours says nothing about itself outside: what it is stands in the log. */
function toProblem(log: Logger, reply: Reply): ErrorRequestHandler {
  return (error: unknown, request, response, next) => {
    if (response.headersSent) return next(error);
    if (error instanceof Refusal) {
      const { status, message: title, nextStep: detail, link } = error;
      return reply.problem(request, response, { status, title, detail, ...(link && { link }) });
    }
    if (error instanceof BadQuery) {
      return reply.problem(request, response, {
        status: 400,
        title: 'This cannot be searched for',
        detail: error.message,
      });
    }
    if (error instanceof URIError) {
      return reply.problem(request, response, { status: 400, title: 'This address cannot be read' });
    }
    if (isSealingKeyMissing(error)) {
      log.error({ alarm: 'sealing_key_missing', err: error }, 'an outcome record cannot be opened');
      const detail =
        'It is sealed under a key that this application was not started with, which says nothing against the record. ' +
        'Its log names the key. Try again when the key was added to COUNTERSIGN_RECORD_SEALING_KEYS.';
      return reply.problem(request, response, { status: 503, title: 'This record cannot be opened here', detail });
    }
    log.error({ err: error }, 'an audit request failed');
    reply.problem(request, response, failureOf(error));
  };
}

function failureOf(error: unknown): Problem {
  const tryAgain = { status: 503, detail: 'Try again in a few seconds.' };
  if (isDatabaseAway(error)) return { ...tryAgain, title: 'The records cannot be read now' };
  if (error instanceof CountersignError && error.code === 'ERR_IDENTITY_PROVIDER_UNAVAILABLE') {
    return { ...tryAgain, title: 'The identity provider does not answer' };
  }
  const detail = 'Nothing was changed, and this says nothing about the record. The log of this application says more.';
  return { status: 500, title: 'Something went wrong here', detail };
}

/** The files of all pages, and the sheet of these. */
export function auditAssets(): Router {
  const router = Router();
  router.get('/assets/audit.css', asset('css', readFileSync(packagePath('apps', 'audit', 'audit.css'), 'utf8')));
  return router.use(assetsRouter());
}
