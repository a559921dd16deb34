import express, { type ErrorRequestHandler, type Express, type Request, type RequestHandler } from 'express';
import helmet from 'helmet';
import type { Logger } from 'pino';
import { BadQuery } from './filters.ts';
import { createReply, type Reply } from './reply.tsx';
import { listOutcomeRecords } from './routes/list-outcome-records.tsx';
import { recordRoutes } from './routes/show-outcome-record.tsx';
import type { OutcomeRecords } from './stores/outcome-record.store.ts';

/** Who asks, as a verified token or a session says. */
export type Visitor =
  | { readonly kind: 'auditor'; readonly name: string }
  /** Somebody, but no auditor. */
  | { readonly kind: 'stranger'; readonly name: string }
  | { readonly kind: 'nobody'; readonly problem?: 'invalid_token' };

export interface AuditHttp {
  readonly records: OutcomeRecords;
  readonly identify: (request: Request) => Promise<Visitor>;
  /** Sign-in of browsers: sessions, and the routes that lead to the issuer and back. */
  readonly signIn: { readonly handlers: readonly RequestHandler[]; readonly path: string };
  /** Style sheets by path. */
  readonly styles: ReadonlyMap<string, string>;
  /** Public address, which is also the audience of tokens. */
  readonly url: string;
  readonly log: Logger;
}

const DAY_SECONDS = 86_400;

/** The auditors' pages and their API: every address answers both, reads only, and answers auditors only. */
export function createAuditApp(http: AuditHttp): Express {
  const app = express();
  const reply = createReply();
  app.disable('x-powered-by');
  app.use(securityHeaders());
  app.get('/healthz', (_request, response) => void response.json({ status: 'ok' }));
  app.get([...http.styles.keys()], (request, response) => {
    response.type('css').set('Cache-Control', `max-age=${DAY_SECONDS}`).send(http.styles.get(request.path));
  });
  for (const handler of http.signIn.handlers) app.use(handler);
  app.use(auditorsOnly(http, reply));
  app.get('/', (_request, response) => response.redirect('/outcome-records'));
  app.get('/outcome-records', listOutcomeRecords(http.records, reply));
  app.use('/outcome-records', recordRoutes(http.records, reply));
  app.use((request, response) => reply.problem(request, response, { status: 404, title: 'There is no such page' }));
  app.use(toProblem(http.log, reply));
  return app;
}

function securityHeaders(): RequestHandler {
  return helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'none'"],
        styleSrc: ["'self'"],
        imgSrc: ["'self'", 'data:'],
        formAction: ["'self'"],
        frameAncestors: ["'none'"],
        baseUri: ["'none'"],
      },
    },
    referrerPolicy: { policy: 'same-origin' },
  });
}

function auditorsOnly({ identify, signIn, url }: AuditHttp, reply: Reply): RequestHandler {
  return async (request, response, next) => {
    response.set({ 'Cache-Control': 'no-store', Vary: 'Accept, Authorization, Cookie' });
    const visitor = await identify(request);
    if (visitor.kind === 'auditor') {
      response.locals['auditor'] = visitor.name;
      return next();
    }
    if (visitor.kind === 'stranger') {
      const detail = 'Outcome records are for people and programs with the role `auditor`.';
      return reply.problem(request, response, { status: 403, title: 'You are not an auditor', detail });
    }
    if (reply.wantsPage(request)) {
      return response.redirect(`${signIn.path}?${new URLSearchParams({ returnTo: request.originalUrl }).toString()}`);
    }
    const error = visitor.problem ? `, error="${visitor.problem}"` : '';
    response.set('WWW-Authenticate', `Bearer realm="${url}"${error}`);
    reply.problem(request, response, {
      status: 401,
      title: 'Nobody is signed in',
      detail: visitor.problem
        ? 'The bearer token is not valid: it may have expired, or be meant for another service.'
        : `Send a bearer token of an auditor whose audience is ${url}.`,
    });
  };
}

/** A fault of ours says nothing about itself outside: what it is stands in the log. */
function toProblem(log: Logger, reply: Reply): ErrorRequestHandler {
  return (error: unknown, request, response, next) => {
    if (response.headersSent) return next(error);
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
    log.error({ err: error }, 'an audit request failed');
    reply.problem(request, response, {
      status: 503,
      title: 'The records cannot be read now',
      detail: 'Try again in a moment.',
    });
  };
}
