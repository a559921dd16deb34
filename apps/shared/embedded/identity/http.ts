import express, {
  type ErrorRequestHandler,
  type Express,
  type Request,
  type RequestHandler,
  type Response,
} from 'express';
import { errors, type Provider } from 'oidc-provider';
import type { Logger } from 'pino';
import type { Config } from '../../config/config.ts';
import { withLoopbackNames } from '../../http/known-hosts.ts';
import { noStore, securityHeaders } from '../../http/page-headers.ts';
import { assetsRouter } from '../../pages/assets.ts';
import { registrationRouter } from './host-registration.ts';
import { answerHostPage, type HostSignIn, showHostPage } from './host-sign-in.ts';
import type { HostState } from './host-state.ts';
import { isHost } from './hosts.ts';
import { problemOf } from './host-policy.ts';
import { SESSION_COOKIE } from './provider.ts';
import { problemPage, SIGN_IN, signInPage, signInPath } from './sign-in-page.tsx';

interface IdentityApp {
  readonly provider: Provider;
  readonly config: Config;
  readonly state: HostState;
  readonly log: Logger;
}

/** The provider's own endpoints, and the page on which people choose who they are. */
export function createIdentityApp({ provider, config, state, log }: IdentityApp): Express {
  const app = express();
  app.disable('x-powered-by');
  const { urls } = config;
  // The answer to the sign-in form redirects to the pages, under each name of this machine that a CSP can express.
  const pages = [urls.approvals, urls.audit]
    .flatMap((url) => [...withLoopbackNames(url)])
    .map((url) => new URL(url).origin);
  app.use(
    securityHeaders(
      urls.issuer,
      pages.filter((origin) => !origin.includes('[')),
    ),
  );
  app.get('/healthz', (_request, response) => void response.json({ status: 'ok' }));
  app.get('/', (_request, response) => response.redirect(303, urls.approvals));
  app.use(assetsRouter());
  app.use(signInRoutes({ provider, config, state }));
  if (config.identity.hosts.registration) app.use(registrationRouter({ config, clients: state.clients, log }));
  app.use('/auth', forgetLastPerson);
  const endpoints = provider.callback();
  app.use((request, response) => void endpoints(request, response));
  app.use(toPage(log));
  return app;
}

function signInRoutes(signIn: HostSignIn) {
  const { provider, config } = signIn;
  // Looked up each time, because the list may change.
  const people = () => config.identity.people.filter((person) => person.roles.some((role) => role !== 'agent'));
  const router = express.Router();
  router.use(SIGN_IN, noStore);
  router.get(`${SIGN_IN}/:uid`, async (request, response) => {
    const interaction = await interactionOf(provider, request, response);
    if (isForHost(interaction)) return showHostPage(signIn, interaction, { request, response });
    response.send(signInPage({ action: signInPath(interaction.uid), people: people() }));
  });
  router.post(`${SIGN_IN}/:uid`, express.urlencoded({ extended: false, limit: '4kb' }), async (request, response) => {
    const interaction = await interactionOf(provider, request, response);
    if (isForHost(interaction)) return answerHostPage(signIn, interaction, { request, response });
    const { person } = request.body as { person?: unknown };
    const found = people().find(({ name }) => name === person);
    if (found === undefined)
      return response.status(400).send(problemPage({ detail: 'There is no person of that name.' }));
    await provider.interactionFinished(request, response, { login: { accountId: found.name, remember: false } });
  });
  return router;
}

/** The sign-in of this address, if this browser began it. The library goes by the cookie alone. */
async function interactionOf(provider: Provider, request: Request, response: Response) {
  const interaction = await provider.interactionDetails(request, response);
  if (interaction.uid !== request.params['uid']) throw new errors.SessionNotFound('the sign-in of another address');
  return interaction;
}

const isForHost = ({ params }: { params: Record<string, unknown> }) =>
  isHost(params['client_id'] as string | undefined);

/**
 * In development, one browser signs in as several people, so each sign-in has to ask again. The provider never sees the cookie of an
 * earlier session.
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
      return response.status(400).send(problemPage({ detail: 'This sign-in has ended, or began in another browser.' }));
    }
    const problem = problemOf(error, undefined);
    if (problem !== undefined) return response.status(400).send(problemPage(problem));
    log.error({ err: error }, 'a sign-in could not be served');
    response.status(500).send(problemPage({ detail: 'Something went wrong here.' }));
  };
}
