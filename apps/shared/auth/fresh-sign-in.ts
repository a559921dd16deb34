import type { Request, Response } from 'express';
import { Refusal } from '../http/csrf.ts';
import type { Identity } from '../http/session.ts';
import { wantsPage } from '../pages/refusal-page.tsx';
import { SIGN_IN_PATH } from './sign-in-path.ts';

/** Tolerated difference between the clocks of the issuer and of this service. */
const SKEW_SECONDS = 30;

/**
 * Asks the issuer to have the person prove who they are, even if they are signed in there. A browser can drop these parameters, and an
 * issuer can ignore them. So only `auth_time` in the answer counts, which the issuer must send when it is asked for `max_age`.
 * @see OpenID Connect Core 1.0, sections 3.1.2.1 and 2
 */
export const FRESH_PARAMETERS = { prompt: 'login', max_age: '0' } as const;

/** The address at which a person signs in again, although they are signed in, and is then redirected to `returnTo`. */
export const freshSignInPath = (returnTo: string): string =>
  `${SIGN_IN_PATH}?${new URLSearchParams({ returnTo, fresh: '1' }).toString()}`;

/**
 * When the person last proved to the issuer who they are, in seconds since the epoch. Undefined if the ID token does not say it, or names
 * a time in the future, which would stay fresh for too long.
 */
export function signedInAtOf({ auth_time: at }: { readonly auth_time?: unknown }, nowMs: number): number | undefined {
  const now = Math.floor(nowMs / 1_000);
  return typeof at === 'number' && at <= now + SKEW_SECONDS ? Math.min(at, now) : undefined;
}

interface Session {
  readonly signedInAt?: number | undefined;
}

/** Whether the person of a session signed in within this time. A session whose issuer does not say when never is. */
export const isFreshSignIn = ({ signedInAt }: Session, seconds: number, nowMs: number): boolean =>
  signedInAt !== undefined && nowMs / 1_000 - signedInAt <= seconds;

/** The page or action needs a sign-in that is at most `freshSeconds` old. */
interface FreshDemand {
  readonly freshSeconds: number;
  readonly nowMs: number;
  /** The page to which a person comes back who sent a form. Its texts are still there, and the form is not sent again. */
  readonly page: string;
}

/**
 * Returns true if the person of this browser's session signed in recently enough. Otherwise it redirects a person who opened a page to the
 * sign-in, and returns false. Throws a `Refusal` (403) for any other request, which is not carried out, neither now nor after the sign-in.
 * A request with a bearer token has no sign-in, so it is always refused.
 */
export function demandFreshSignIn(
  request: Request,
  response: Response,
  { freshSeconds, nowMs, page }: FreshDemand,
): boolean {
  const isProgram = request.get('Authorization') !== undefined;
  const { person } = request.session;
  if (!isProgram && person !== undefined && isFreshSignIn(person, freshSeconds, nowMs)) return true;
  if (isProgram || request.method !== 'GET' || !wantsPage(request)) throw signInAgain(page);
  response.redirect(303, freshSignInPath(request.originalUrl));
  return false;
}

/** The refusal (403) of an action whose person has to sign in again first. */
export const signInAgain = (page: string): Refusal =>
  new Refusal(
    403,
    'Sign in again first',
    'Nothing was decided or changed. This needs a sign-in in the browser from the last minutes. This tab keeps the text that you typed.',
    { href: freshSignInPath(page), label: 'Sign in again' },
  );

/** A sign-in that asked for a fresh proof. */
interface Asked {
  /** The person of the session at that moment, if there was one. */
  readonly person: Pick<Identity, 'issuer' | 'subject' | 'name'> | undefined;
  /** Milliseconds since the epoch. */
  readonly askedAt: number;
  readonly returnTo: string;
}

/**
 * Throws a `Refusal` (403) unless the issuer's answer is about the same person and says that they signed in after it was asked. The session
 * then stays as it was.
 */
export function checkFreshSignIn(
  claims: { readonly iss: string; readonly sub: string; readonly auth_time?: unknown },
  { person, askedAt, returnTo }: Asked,
  nowMs: number,
): void {
  const link = { href: freshSignInPath(returnTo), label: 'Sign in again' };
  if (person !== undefined && (claims.sub !== person.subject || claims.iss !== person.issuer)) {
    const nextStep = `Nothing was decided or changed. Sign in again as ${person.name}. Or sign out here first, to continue as the other person.`;
    throw new Refusal(403, 'You signed in as another person', nextStep, link);
  }
  const signedInAt = signedInAtOf(claims, nowMs);
  if (signedInAt === undefined || signedInAt < Math.floor(askedAt / 1_000) - SKEW_SECONDS) {
    throw new Refusal(
      403,
      'The identity provider did not sign you in again',
      'Nothing was decided or changed. Sign out at the identity provider, and sign in again. If that does not help, tell an administrator: ' +
        'the identity provider must honour `prompt=login` and `max_age`, and send the claim `auth_time`.',
      link,
    );
  }
}
