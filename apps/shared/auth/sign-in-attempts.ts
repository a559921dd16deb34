import { hkdfSync } from 'node:crypto';
import { parseCookie } from 'cookie';
import type { CookieOptions, Request, Response } from 'express';
import { EncryptJWT, errors, jwtDecrypt } from 'jose';
import * as z from 'zod';
import { hostCookieName, isHttps } from '../http/session.ts';

/** How long a person has at the issuer. */
const ATTEMPT_SECONDS = 15 * 60;
/** Sign-ins under way in one browser, one per tab. A further one replaces the oldest. */
const MOST_ATTEMPTS = 5;
/** Characters of the state in the cookie's name, enough to be unique within a browser. */
const ID_LENGTH = 16;

const attemptSchema = z.object({
  state: z.string(),
  nonce: z.string(),
  codeVerifier: z.string(),
  returnTo: z.string(),
  /** Milliseconds since the epoch. */
  begunAt: z.number(),
  /** Present if the person has to prove anew who they are: the person of the session at the beginning, if there was one. */
  fresh: z
    .object({ person: z.object({ issuer: z.string(), subject: z.string(), name: z.string() }).optional() })
    .optional(),
});

/** A sign-in that has begun, and has to be finished in the same browser. */
export type SignInAttempt = z.infer<typeof attemptSchema>;

interface AttemptOptions {
  /** Name of the session cookie, and prefix of the names of attempts. */
  readonly cookieName: string;
  readonly secret: string;
  readonly baseUrl: string;
}

/** Sign-ins under way, each in its own sealed cookie, so that the server stores nothing for a person who is not signed in. */
export function createAttempts({ cookieName, secret, baseUrl }: AttemptOptions) {
  const sealer = createSealer({ secret, purpose: `sign-in ${cookieName}` }, attemptSchema);
  const prefix = hostCookieName(`${cookieName}_sign_in_`, baseUrl);
  const nameOf = (state: string) => `${prefix}${state.slice(0, ID_LENGTH)}`;
  const cookie: CookieOptions = { httpOnly: true, sameSite: 'lax', secure: isHttps(baseUrl), path: '/' };
  const cookiesOf = (request: Request) =>
    Object.entries(parseCookie(request.get('Cookie') ?? '')).flatMap(([name, value]) =>
      name.startsWith(prefix) && value !== undefined ? [{ name, value }] : [],
    );
  return {
    /** Sets the cookie of an attempt, and clears those of the oldest attempts where there are too many. */
    async keep(attempt: SignInAttempt, request: Request, response: Response): Promise<void> {
      const opened = await Promise.all(
        cookiesOf(request).map(async ({ name, value }) => ({
          name,
          begunAt: (await sealer.open(value))?.begunAt ?? 0,
        })),
      );
      const newestFirst = opened.sort((one, other) => other.begunAt - one.begunAt);
      for (const { name } of newestFirst.slice(MOST_ATTEMPTS - 1)) response.clearCookie(name, cookie);
      const sealed = await sealer.seal(attempt, ATTEMPT_SECONDS);
      response.cookie(nameOf(attempt.state), sealed, { ...cookie, maxAge: ATTEMPT_SECONDS * 1_000 });
    },

    /** The attempt with this state, whose cookie is then cleared; undefined for an expired one, or one of another browser. */
    async take(state: unknown, request: Request, response: Response): Promise<SignInAttempt | undefined> {
      if (typeof state !== 'string' || !/^[\w-]{16,}$/.test(state)) return undefined;
      const found = cookiesOf(request).find(({ name }) => name === nameOf(state));
      if (found === undefined) return undefined;
      response.clearCookie(found.name, cookie);
      const attempt = await sealer.open(found.value);
      return attempt?.state === state ? attempt : undefined;
    },
  };
}

const KEY_BYTES = 32;

/**
 * Seals content that leaves this process and comes back to it, for one purpose: content that was sealed for another one does not open,
 * even with the same secret. The holder of a sealed text can neither read nor change it.
 * @see RFC 7516 (`dir`, `A256GCM`); RFC 5869 for the key
 */
export function createSealer<Content extends object>(
  { secret, purpose }: { readonly secret: string; readonly purpose: string },
  schema: z.ZodType<Content>,
) {
  const key = new Uint8Array(hkdfSync('sha256', secret, '', `countersign ${purpose}`, KEY_BYTES));
  return {
    /** Returns a compact JWE that can be opened for this many seconds. */
    seal: (content: Content, seconds: number): Promise<string> =>
      new EncryptJWT({ content })
        .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
        .setAudience(purpose)
        .setExpirationTime(`${seconds} seconds`)
        .encrypt(key),

    /** Undefined for a text that was not sealed for this purpose with this secret, or has expired. */
    async open(sealed: string): Promise<Content | undefined> {
      try {
        const { payload } = await jwtDecrypt(sealed, key, {
          audience: purpose,
          requiredClaims: ['exp'],
          keyManagementAlgorithms: ['dir'],
          contentEncryptionAlgorithms: ['A256GCM'],
        });
        return schema.safeParse(payload['content']).data;
      } catch (error) {
        if (error instanceof errors.JOSEError) return undefined;
        throw error;
      }
    },
  };
}
