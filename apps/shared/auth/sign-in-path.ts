import type { Request, Response } from 'express';
import { Refusal } from '../http/csrf.ts';
import { wantsPage } from '../pages/refusal-page.tsx';

export const SIGN_IN_PATH = '/sign-in';

/** The address at which a person signs in, and is then redirected to `returnTo`. */
export const signInPath = (returnTo: string): string =>
  `${SIGN_IN_PATH}?${new URLSearchParams({ returnTo }).toString()}`;

/**
 * Redirects a person who is not signed in to the sign-in, and then to the page they asked for. Throws a `Refusal` (401) for any other
 * request. A form is not carried out, neither now nor after the sign-in, which leads back to `page` with the form.
 */
export function askToSignIn(request: Request, response: Response, page: string): void {
  const isPage = wantsPage(request);
  if (request.method === 'GET' && isPage) return response.redirect(303, signInPath(request.originalUrl));
  const next = isPage
    ? 'Sign in, and check the page again: this tab keeps the text that you typed.'
    : 'Sign in and try again.';
  const link = { href: signInPath(page), label: 'Sign in' };
  throw new Refusal(401, 'You are not signed in', `Nothing was decided or changed. ${next}`, link);
}
