import connectPgSimple from 'connect-pg-simple';
import type { CookieOptions, Request, RequestHandler } from 'express';
import session from 'express-session';
import type { Pool } from 'pg';
import type { Logger } from 'pino';
import { asUnavailable } from '../../../workflows/domain/errors.ts';

/** A person who signed in with a browser, according to their ID token. Their roles are not part of it. */
export interface Identity {
  readonly issuer: string;
  readonly subject: string;
  /** Display name. */
  readonly name: string;
  /** Other names, from the claim by which policies identify people. */
  readonly aliases?: readonly string[];
  /** The issuer's name for its session, where it has one. @see OpenID Connect Back-Channel Logout 1.0, section 2.1 */
  readonly sid?: string;
  /** When the ID token was issued, in seconds, by the issuer's clock. */
  readonly issuedAt: number;
  /** When the person last proved to the issuer who they are, in seconds. Absent if the issuer does not say. */
  readonly signedInAt?: number;
}

declare module 'express-session' {
  interface SessionData {
    person: Identity;
  }
}

const PRUNE_SECONDS = 15 * 60;

interface SessionOptions {
  readonly pool: Pool;
  /** Schema of the table `session`. */
  readonly schema: string;
  /** Cookies do not tell ports apart, so two sites on one host need two names. */
  readonly cookieName: string;
  readonly secret: string;
  /** Public address of the site; with https the cookie is sent over https alone. */
  readonly baseUrl: string;
  /** How long a session lasts from the sign-in, used or not. */
  readonly sessionSeconds: number;
  readonly log: Logger;
}

/**
 * Sessions of browsers, stored in Postgres and written once, at the sign-in. So a request that is under way when a session ends does not
 * restore it, and a browser without a session leaves no row. `close` stops the removal of old sessions.
 */
export function createSessions(options: SessionOptions) {
  const { cookieName, baseUrl, secret, sessionSeconds } = options;
  const PgStore = connectPgSimple(session);
  const store = new PgStore({
    pool: options.pool,
    schemaName: options.schema,
    tableName: 'session',
    disableTouch: true,
    pruneSessionInterval: PRUNE_SECONDS,
    errorLog: (...error: unknown[]) => options.log.warn({ err: error[0] }, 'old sessions could not be removed'),
  });
  const name = hostCookieName(cookieName, baseUrl);
  const cookie = { httpOnly: true, sameSite: 'lax', secure: isHttps(baseUrl), path: '/' } satisfies CookieOptions;
  const kept = session({
    store,
    name,
    secret,
    resave: false,
    saveUninitialized: false,
    rolling: false,
    // TLS ends at the proxy, so only the proxy knows whether the browser used https.
    proxy: cookie.secure,
    cookie: { ...cookie, maxAge: sessionSeconds * 1_000 },
  });
  // Errors here come from the store.
  const handler: RequestHandler = (request, response, next) =>
    void kept(request, response, (error?: unknown) => next(error && asUnavailable(error)));
  return { handler, cookie: { name, options: cookie }, close: () => store.close() };
}

/** Gives the browser a new session id, which stops session fixation: an id from before the sign-in is worthless afterwards. */
export const renewSession = (request: Request): Promise<void> => stored((done) => request.session.regenerate(done));

/** Resolves when the session is durable, for a redirect that relies on it. */
export const saveSession = (request: Request): Promise<void> => stored((done) => request.session.save(done));

export const endSession = (request: Request): Promise<void> => stored((done) => request.session.destroy(done));

const stored = (change: (done: (error?: unknown) => void) => unknown): Promise<void> =>
  new Promise((resolve, reject) => change((error) => (error ? reject(asUnavailable(error)) : resolve())));

/**
 * The name of a cookie that no other host can set for this site: browsers accept `__Host-` only from this host, over https and for all of
 * its paths. Over http, as in development, no cookie can have that prefix.
 * @see RFC 6265bis, section 4.1.3.2
 */
export const hostCookieName = (name: string, baseUrl: string): string => (isHttps(baseUrl) ? `__Host-${name}` : name);

export const isHttps = (url: string): boolean => new URL(url).protocol === 'https:';
