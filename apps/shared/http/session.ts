import connectPgSimple from 'connect-pg-simple';
import type { CookieOptions, Request, RequestHandler } from 'express';
import session from 'express-session';
import type { Pool } from 'pg';
import type { Logger } from 'pino';
import { asUnavailable } from '../../../workflows/domain/errors.ts';

/** A person who signed in with a browser, as their ID token said. What they may do is asked anew. */
export interface Identity {
  readonly issuer: string;
  readonly subject: string;
  /** What to call them. */
  readonly name: string;
  /** What else they are called, by the claim by which policies know people. */
  readonly aliases?: readonly string[];
  /** The issuer's name for its session, where it has one. @see OpenID Connect Back-Channel Logout 1.0, section 2.1 */
  readonly sid?: string;
  /** When the ID token was made, in seconds, by the issuer's clock. */
  readonly issuedAt: number;
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
 * Sessions of browsers, kept in Postgres from the sign-in to their end, and written once. So a request that is under way when a session
 * is ended does not bring it back, and a browser without one leaves nothing behind. `close` ends what runs beside them.
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
    // TLS ends before us, so it is the proxy that knows whether the browser came over https.
    proxy: cookie.secure,
    cookie: { ...cookie, maxAge: sessionSeconds * 1_000 },
  });
  // What goes wrong here goes wrong in the store.
  const handler: RequestHandler = (request, response, next) =>
    void kept(request, response, (error?: unknown) => next(error && asUnavailable(error)));
  return { handler, cookie: { name, options: cookie }, close: () => store.close() };
}

/** Gives the browser a new session id, so that one that was known before sign-in opens nothing afterwards. */
export function renewSession(request: Request): Promise<void> {
  return new Promise((resolve, reject) => {
    request.session.regenerate((error: unknown) => (error ? reject(asUnavailable(error)) : resolve()));
  });
}

/** Resolves when the session is durable: before a redirect that relies on it. */
export function saveSession(request: Request): Promise<void> {
  return new Promise((resolve, reject) => {
    request.session.save((error: unknown) => (error ? reject(asUnavailable(error)) : resolve()));
  });
}

export function endSession(request: Request): Promise<void> {
  return new Promise((resolve, reject) => {
    request.session.destroy((error: unknown) => (error ? reject(asUnavailable(error)) : resolve()));
  });
}

/**
 * The name of a cookie that no other host can set for this site: browsers take `__Host-` from this host alone, over https,
 * for all of its paths. Over http, as in development, no cookie can have that prefix.
 * @see RFC 6265bis, section 4.1.3.2
 */
export const hostCookieName = (name: string, baseUrl: string): string => (isHttps(baseUrl) ? `__Host-${name}` : name);

export const isHttps = (url: string): boolean => new URL(url).protocol === 'https:';
