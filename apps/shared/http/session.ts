import connectPgSimple from 'connect-pg-simple';
import type { Request, RequestHandler } from 'express';
import session from 'express-session';
import type { Pool } from 'pg';
import type { Logger } from 'pino';
import { asUnavailable } from '../../../workflows/domain/passing-trouble.ts';

/** Somebody who signed in with a browser, as their ID token said. */
export interface Person {
  readonly issuer: string;
  readonly subject: string;
  /** What to call them. */
  readonly name: string;
  readonly roles: readonly string[];
  /** What else they are called, by the claim by which policies know people. */
  readonly aliases?: readonly string[];
}

declare module 'express-session' {
  interface SessionData {
    person: Person;
    /** A sign-in that has begun, and has to come back to the browser that began it. */
    signIn: {
      readonly state: string;
      readonly nonce: string;
      readonly codeVerifier: string;
      readonly returnTo: string;
    };
  }
}

const LIFETIME_MS = 8 * 3_600_000;
const PRUNE_SECONDS = 15 * 60;

export interface SessionOptions {
  readonly pool: Pool;
  /** Schema of the table `session`. */
  readonly schema: string;
  /** Cookies do not tell ports apart, so two sites on one host need two names. */
  readonly cookieName: string;
  readonly secret: string;
  /** Public address of the site; with https the cookie is sent over https alone. */
  readonly baseUrl: string;
  readonly log: Logger;
}

/** Sessions of browsers, kept in Postgres for eight hours after their last use. `close` ends what runs beside them. */
export function createSessions(options: SessionOptions): { readonly handler: RequestHandler; close(): void } {
  const secure = new URL(options.baseUrl).protocol === 'https:';
  const PgStore = connectPgSimple(session);
  const store = new PgStore({
    pool: options.pool,
    schemaName: options.schema,
    tableName: 'session',
    pruneSessionInterval: PRUNE_SECONDS,
    errorLog: (...error: unknown[]) => options.log.warn({ err: error[0] }, 'old sessions could not be removed'),
  });
  const kept = session({
    store,
    name: options.cookieName,
    secret: options.secret,
    resave: false,
    saveUninitialized: false,
    rolling: true,
    // TLS ends before us, so it is the proxy that knows whether the browser came over https.
    proxy: secure,
    cookie: { httpOnly: true, sameSite: 'lax', secure, maxAge: LIFETIME_MS, path: '/' },
  });
  // What goes wrong here goes wrong in the store.
  const handler: RequestHandler = (request, response, next) =>
    void kept(request, response, (error?: unknown) => next(error && asUnavailable(error)));
  return { handler, close: () => store.close() };
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
