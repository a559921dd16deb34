import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express';
import { errors, type Provider } from 'oidc-provider';
import type { Logger } from 'pino';
import type { Config } from '../../config/config.ts';
import { noStore, securityHeaders } from '../../http/page-headers.ts';
import { assetsRouter } from '../../pages/assets.ts';
import { SESSION_COOKIE } from './provider.ts';
import { problemPage, SIGN_IN, signInPage, signInPath } from './sign-in-page.tsx';

/** The provider's own endpoints with the page on which people say who they are. */
export function createIdentityApp({
  provider,
  config,
  log,
}: {
  provider: Provider;
  config: Config;
  log: Logger;
}): Express {
  const app = express();
  app.disable('x-powered-by');
  const { urls } = config;
  // The form on which people say who they are ends on the pages that they came from: its answer redirects there.
  app.use(securityHeaders(urls.issuer, [new URL(urls.approvals).origin, new URL(urls.audit).origin]));
  app.get('/healthz', (_request, response) => void response.json({ status: 'ok' }));
  app.get('/', (_request, response) => response.redirect(303, urls.approvals));
  app.use(assetsRouter());
  app.use(signInRoutes(provider, config));
  app.use('/auth', forgetLastPerson);
  const endpoints = provider.callback();
  app.use((request, response) => void endpoints(request, response));
  app.use(toPage(log));
  return app;
}

function signInRoutes(provider: Provider, config: Config) {
  const people = config.identity.people.filter((person) => person.roles.some((role) => role !== 'agent'));
  const router = express.Router();
  router.use(SIGN_IN, noStore);
  router.get(`${SIGN_IN}/:uid`, async (request, response) => {
    const { uid } = await provider.interactionDetails(request, response);
    response.send(signInPage({ action: signInPath(uid), people }));
  });
  router.post(`${SIGN_IN}/:uid`, express.urlencoded({ extended: false, limit: '4kb' }), async (request, response) => {
    const { person } = request.body as { person?: unknown };
    const found = people.find(({ name }) => name === person);
    if (found === undefined) return response.status(400).send(problemPage('Nobody of that name signs in here.'));
    await provider.interactionFinished(request, response, { login: { accountId: found.name, remember: false } });
  });
  return router;
}

/**
 * One machine plays all people in development: each sign-in asks who it is, whoever signed in before. So the provider
 * never gets to see the cookie of an earlier session.
 */
const forgetLastPerson: RequestHandler = (request, _response, next) => {
  const cookies = request.headers.cookie?.split('; ').filter((cookie) => !cookie.startsWith(SESSION_COOKIE));
  request.headers.cookie = cookies?.join('; ');
  next();
};

function toPage(log: Logger): ErrorRequestHandler {
  return (error: unknown, _request, response, next) => {
    if (response.headersSent) return next(error);
    if (error instanceof errors.SessionNotFound) {
      return response.status(400).send(problemPage('This sign-in has ended, or was begun in another browser.'));
    }
    log.error({ err: error }, 'a sign-in could not be served');
    response.status(500).send(problemPage('Something went wrong here.'));
  };
}
