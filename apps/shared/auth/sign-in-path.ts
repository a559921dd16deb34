import type { Request, Response } from 'express';
import { Refusal } from '../http/csrf.ts';
import { wantsPage } from '../pages/refusal-page.tsx';

export const SIGN_IN_PATH = '/sign-in';

/** The address at which a person signs in, and is then brought to `returnTo`. */
export const signInPath = (returnTo: string): string =>
  `${SIGN_IN_PATH}?${new URLSearchParams({ returnTo }).toString()}`;

/**
 * Sends a person who is not signed in to sign in, and back to the page they wanted. Throws a `Refusal` (401) for any other request.
 * What was sent with a form is not done, and coming back does not do it: the person comes back to `page`, where the form stands.
 */
export function askToSignIn(request: Request, response: Response, page: string): void {
  const isPage = wantsPage(request);
  if (request.method === 'GET' && isPage) return response.redirect(303, signInPath(request.originalUrl));
  const next = isPage
    ? 'Sign in, and look at the page again: this tab keeps the text that you typed.'
    : 'Sign in and try again.';
  const link = { href: signInPath(page), label: 'Sign in' };
  throw new Refusal(401, 'You are not signed in', `Nothing was decided or changed. ${next}`, link);
}
