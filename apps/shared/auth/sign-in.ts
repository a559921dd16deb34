import express, { type Request, type RequestHandler, type Response, type Router } from 'express';
import * as oidc from 'openid-client';
import type { Logger } from 'pino';
import { csrfProtection } from '../http/csrf.ts';
import { isLoopbackHttp } from '../http/loopback.ts';
import { Refusal } from '../http/refusal.ts';
import { endSession, renewSession, saveSession, type Person } from '../http/session.ts';
import { aliasesOf } from './principal-of.ts';
import { rolesIn } from './roles.ts';

/** The client under which the product's pages are known to the issuer. */
export const WEB_CLIENT_ID = 'countersign-web';
export const SIGN_IN_PATH = '/sign-in';
export const CALLBACK_PATH = '/oidc/callback';

export interface SignInOptions {
  readonly issuer: string;
  readonly clientSecret: string;
  /** Public address of the site. */
  readonly baseUrl: string;
  readonly rolesClaim: string;
  /** The claim by which policies know people. Default: `sub`. */
  readonly identityClaim?: string;
  readonly cookieName: string;
  readonly log: Logger;
}

/**
 * Sign-in at the issuer and back (authorization code, PKCE, state, nonce), and sign-out. Needs the session before it.
 * `GET /sign-in?returnTo=/path`, `GET /oidc/callback`, `POST /sign-out`.
 */
export function signInRouter(options: SignInOptions): Router {
  const provider = createProvider(options);
  const router = express.Router();
  router.get(SIGN_IN_PATH, begin(options, provider));
  router.get(CALLBACK_PATH, finish(options, provider));
  router.post(
    '/sign-out',
    express.urlencoded({ extended: false, limit: '4kb' }),
    csrfProtection,
    async (request, response) => {
      await endSession(request);
      response.clearCookie(options.cookieName, { path: '/' });
      throw new Refusal(
        200,
        'You are signed out',
        'Close the browser on a machine that others use, too.',
        signInAgain('/'),
      );
    },
  );
  return router;
}

/** Who is signed in with this request's session. */
export function personOf(request: Request): Person | undefined {
  return request.session.person;
}

/**
 * Lets people with the role through. Who is not signed in is sent to sign in, and comes back to the page they wanted;
 * a request that is not for a page gets 401. A program with a bearer token is not meant here.
 */
export function requireRole(role: string): RequestHandler {
  return (request, response, next) => {
    const person = personOf(request);
    if (person === undefined) return askToSignIn(request, response, next);
    if (person.roles.includes(role)) return next();
    const nextStep = `You are signed in as ${person.name}, who does not have the role “${role}”. Ask whoever gives out roles, or sign in as somebody else.`;
    next(new Refusal(403, 'This is not for you', nextStep));
  };
}

const askToSignIn: RequestHandler = (request, response, next) => {
  if (request.method !== 'GET' || request.accepts(['json', 'html']) !== 'html') {
    return next(new Refusal(401, 'You are not signed in', 'Sign in and try again.', signInAgain('/')));
  }
  response.redirect(303, `${SIGN_IN_PATH}?${new URLSearchParams({ returnTo: request.originalUrl }).toString()}`);
};

const signInAgain = (returnTo: string) => ({
  href: `${SIGN_IN_PATH}?${new URLSearchParams({ returnTo }).toString()}`,
  label: 'Sign in',
});

function begin({ baseUrl, log }: SignInOptions, provider: Provider): RequestHandler {
  return async (request, response) => {
    const configuration = await provider().catch((err: unknown) => {
      log.warn({ err }, 'the identity provider does not answer');
      throw new Refusal(
        503,
        'Sign-in does not work at the moment',
        'The identity provider does not answer. Try again in a moment.',
        signInAgain('/'),
      );
    });
    const codeVerifier = oidc.randomPKCECodeVerifier();
    const signIn = {
      state: oidc.randomState(),
      nonce: oidc.randomNonce(),
      codeVerifier,
      returnTo: localPath(request.query['returnTo'], baseUrl),
    };
    request.session.signIn = signIn;
    await saveSession(request);
    const address = oidc.buildAuthorizationUrl(configuration, {
      redirect_uri: `${baseUrl}${CALLBACK_PATH}`,
      scope: 'openid profile',
      code_challenge: await oidc.calculatePKCECodeChallenge(codeVerifier),
      code_challenge_method: 'S256',
      state: signIn.state,
      nonce: signIn.nonce,
    });
    response.redirect(303, address.href);
  };
}

function finish(options: SignInOptions, provider: Provider): RequestHandler {
  const { baseUrl, rolesClaim, identityClaim = 'sub', log } = options;
  return async (request: Request, response: Response) => {
    const { signIn } = request.session;
    if (signIn === undefined) throw notSignedIn();
    // One use: whatever comes of it, this sign-in cannot be finished again.
    delete request.session.signIn;
    const arrived = new URL(`${baseUrl}${CALLBACK_PATH}`);
    arrived.search = new URL(request.originalUrl, baseUrl).search;
    const tokens = await oidc
      .authorizationCodeGrant(await provider(), arrived, {
        pkceCodeVerifier: signIn.codeVerifier,
        expectedState: signIn.state,
        expectedNonce: signIn.nonce,
        idTokenExpected: true,
      })
      .catch((err: unknown) => {
        log.warn({ err }, 'a sign-in failed');
        throw notSignedIn();
      });
    const claims = tokens.claims();
    if (claims === undefined) throw notSignedIn();
    await renewSession(request);
    request.session.person = {
      issuer: claims.iss,
      subject: claims.sub,
      name: typeof claims['name'] === 'string' ? claims['name'] : claims.sub,
      roles: rolesIn(claims, rolesClaim),
      aliases: aliasesOf(claims, identityClaim),
    };
    await saveSession(request);
    response.redirect(303, signIn.returnTo);
  };
}

const notSignedIn = () =>
  new Refusal(
    400,
    'The sign-in was not finished',
    'It took too long, or was begun in another window.',
    signInAgain('/'),
  );

type Provider = () => Promise<oidc.Configuration>;

/** The issuer's metadata, fetched when first needed and kept once it was there. */
function createProvider({ issuer, clientSecret }: SignInOptions): Provider {
  let known: Promise<oidc.Configuration> | undefined;
  const url = new URL(issuer);
  // Tokens over plain http only where nobody else can listen (PRJ-25).
  const isLocal = isLoopbackHttp(url);
  return () => {
    known ??= oidc
      .discovery(url, WEB_CLIENT_ID, clientSecret, undefined, { execute: isLocal ? [oidc.allowInsecureRequests] : [] })
      .catch((error: unknown) => {
        known = undefined;
        throw error;
      });
    return known;
  };
}

/** The path to come back to; the start for anything that leads to another site. */
function localPath(wanted: unknown, baseUrl: string): string {
  if (typeof wanted !== 'string' || !URL.canParse(wanted, baseUrl)) return '/';
  const target = new URL(wanted, baseUrl);
  return target.origin === new URL(baseUrl).origin ? `${target.pathname}${target.search}` : '/';
}
