import express, { type Request, type RequestHandler, type Router } from 'express';
import * as oidc from 'openid-client';
import type { Pool } from 'pg';
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import { createPool, ROLES } from '../database/pool.ts';
import { csrfTokenOf, Refusal } from '../http/csrf.ts';
import { ownPath, underNameOf } from '../http/known-hosts.ts';
import type { Timing } from '../limits.ts';
import { createSessions, endSession, type Identity, renewSession, saveSession } from '../http/session.ts';
import { backChannelLogout, signOutRouter } from './sign-out.ts';
import { checkFreshSignIn, FRESH_PARAMETERS, signedInAtOf } from './fresh-sign-in.ts';
import { createIssuer } from './issuer.ts';
import { aliasesOf } from './principal-of.ts';
import { proofOf } from './proof.ts';
import { createRights } from './rights.ts';
import { createAttempts, type SignInAttempt } from './sign-in-attempts.ts';
import { signInPath, SIGN_IN_PATH } from './sign-in-path.ts';

export const CALLBACK_PATH = '/oidc/callback';

/** A person who is signed in, with their current roles. */
export interface Person extends Identity {
  readonly roles: readonly string[];
}

/** The person of this request's session. Undefined when the session has ended, here or at the issuer. */
export type PersonOf = (request: Request) => Promise<Person | undefined>;

export interface SignInOptions extends Timing {
  readonly config: Config;
  readonly site: 'approvals' | 'audit';
  readonly secrets: { readonly sessionSecret: string; readonly oidcClientSecret: string };
  /** Connections for sessions. */
  readonly pool: Pool;
  readonly databaseUrl: string;
  readonly log: Logger;
}

export type SignIn = ReturnType<typeof createSignIn>;

/**
 * Signs browsers in at the issuer (authorization code, PKCE, state, nonce), and keeps and ends their sessions:
 * `GET /sign-in?returnTo=/path` (with `fresh=1`, of a person who may be signed in), `GET /oidc/callback`, `POST /sign-out`, `POST /oidc/back-channel-logout`.
 */
export function createSignIn(options: SignInOptions) {
  const parts = openParts(options);
  const { issuer, rights, sessions, pools, clientId, log } = parts;
  const routes = express.Router();
  routes.get(SIGN_IN_PATH, begin(parts));
  routes.get(CALLBACK_PATH, finish(parts));
  routes.use(signOutRouter({ ...parts, cookie: sessions.cookie, clientId }));
  const personOf: PersonOf = async (request) => {
    const { person } = request.session;
    if (person === undefined) return undefined;
    const roles = await rights.now(request.sessionID, person.subject);
    if (roles !== undefined) return { ...person, roles };
    await endSession(request);
    log.info('a session ended, because it has ended at the identity provider');
    return undefined;
  };
  return {
    /** Routes without a session, then the session, then routes that need one. */
    handlers: [
      backChannelLogout({ issuer, rights, issuerUrl: options.config.urls.issuer, clientId, log }),
      sessions.handler,
      routes,
    ] as const satisfies readonly (RequestHandler | Router)[],
    personOf,
    async close() {
      sessions.close();
      await pools.rights.end();
    },
  };
}

type Parts = ReturnType<typeof openParts>;

function openParts({ config, site: schema, secrets, pool, databaseUrl, clock, limits, log }: SignInOptions) {
  const { identity, urls } = config;
  const cookieName = `countersign_${schema}`;
  const { sessionSeconds, recheckSeconds, rolesClaim } = identity;
  const [baseUrl, secret] = [urls[schema], secrets.sessionSecret];
  const { clientId } = config[schema];
  const named = { applicationName: `countersign ${schema} rights`, role: ROLES[schema] };
  const pools = { sessions: pool, rights: createPool(databaseUrl, { max: 4, ...named, limits }) };
  const clientSecret = secrets.oidcClientSecret;
  const issuer = createIssuer({ issuer: urls.issuer, clientId, clientSecret, limits, log });
  return {
    issuer,
    clientId,
    pools,
    sessions: createSessions({ pool, schema, cookieName, secret, baseUrl, sessionSeconds, log }),
    rights: createRights({ pools, schema, secret, rolesClaim, recheckSeconds, sessionSeconds, issuer }),
    attempts: createAttempts({ cookieName, secret, baseUrl }),
    /** The claim by which policies identify people. */
    identityClaim: config.gateway.coaz.identityClaim,
    scope: identity.signInScopes.join(' '),
    ...{ baseUrl, rolesClaim, clock, log },
  };
}

function begin({ issuer, attempts, baseUrl, scope, clock }: Parts): RequestHandler {
  return async (request, response) => {
    const configuration = await issuer.configuration();
    const attempt: SignInAttempt = {
      state: oidc.randomState(),
      nonce: oidc.randomNonce(),
      codeVerifier: oidc.randomPKCECodeVerifier(),
      returnTo: ownPath(request.query['returnTo'], baseUrl),
      begunAt: clock.now(),
      ...(request.query['fresh'] !== undefined && {
        fresh: { person: request.session.person && idOf(request.session.person) },
      }),
    };
    await attempts.keep(attempt, request, response);
    const address = oidc.buildAuthorizationUrl(configuration, {
      redirect_uri: callbackOf(request, baseUrl),
      scope,
      code_challenge: await oidc.calculatePKCECodeChallenge(attempt.codeVerifier),
      code_challenge_method: 'S256',
      state: attempt.state,
      nonce: attempt.nonce,
      ...(attempt.fresh && FRESH_PARAMETERS),
    });
    response.redirect(303, address.href);
  };
}

const idOf = ({ issuer, subject, name }: Identity) => ({ issuer, subject, name });

function finish(parts: Parts): RequestHandler {
  const { issuer, rights, attempts, rolesClaim, identityClaim, clock, log } = parts;
  return async (request, response) => {
    // Single use: even after a failure, the browser cannot finish this attempt again.
    const attempt = await attempts.take(request.query['state'], request, response);
    if (attempt === undefined) throw notSignedIn('/');
    const tokens = await redeem(request, attempt, parts).catch((err: unknown) => {
      if (err instanceof Refusal) throw err;
      log.warn({ err }, 'a sign-in failed');
      throw notSignedIn(attempt.returnTo);
    });
    const claims = tokens.claims();
    if (claims === undefined) throw notSignedIn(attempt.returnTo);
    if (attempt.fresh) {
      const { returnTo, begunAt: askedAt } = attempt;
      checkFreshSignIn(claims, { person: attempt.fresh.person, askedAt, returnTo }, clock.now());
    }
    const signedInAt = signedInAtOf(claims, clock.now());
    const answer = await proofOf(tokens, { issuer, subject: claims.sub, rolesClaim });
    await startSession(request, {
      issuer: claims.iss,
      subject: claims.sub,
      name: typeof claims['name'] === 'string' ? claims['name'] : claims.sub,
      aliases: aliasesOf(claims, identityClaim),
      issuedAt: claims.iat,
      ...(signedInAt !== undefined && { signedInAt }),
      ...(typeof claims['sid'] === 'string' && { sid: claims['sid'] }),
    });
    await rights.keep(request.sessionID, answer);
    response.redirect(303, ownPath(attempt.returnTo, parts.baseUrl));
  };
}

/** On this machine, the browser comes back under the name that it used: cookies belong to one name, and passkeys to `localhost`. */
const callbackOf = ({ headers }: Request, baseUrl: string): string =>
  underNameOf(headers.host, `${baseUrl}${CALLBACK_PATH}`);

async function redeem(request: Request, attempt: SignInAttempt, { issuer, baseUrl }: Parts) {
  const arrived = new URL(callbackOf(request, baseUrl));
  arrived.search = new URL(request.originalUrl, baseUrl).search;
  return oidc.authorizationCodeGrant(await issuer.configuration(), arrived, {
    pkceCodeVerifier: attempt.codeVerifier,
    expectedState: attempt.state,
    expectedNonce: attempt.nonce,
    idTokenExpected: true,
  });
}

/**
 * The only place that writes a session. A person who signs in again keeps the CSRF token, so that forms in other tabs still work.
 */
async function startSession(request: Request, person: Identity): Promise<void> {
  const { person: before, csrfToken } = request.session;
  const isSame = before?.subject === person.subject && before.issuer === person.issuer;
  await renewSession(request);
  request.session.person = person;
  if (isSame && csrfToken !== undefined) request.session.csrfToken = csrfToken;
  csrfTokenOf(request);
  await saveSession(request);
}

const notSignedIn = (returnTo: string) =>
  new Refusal(400, 'The sign-in was not finished', 'It took too long, or began in another browser.', {
    href: signInPath(returnTo),
    label: 'Sign in',
  });
