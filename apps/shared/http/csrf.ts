import { csrfSync } from 'csrf-sync';
import type { Request, RequestHandler } from 'express';

const { csrfSynchronisedProtection, generateToken } = csrfSync({
  size: 32,
  getTokenFromRequest: (request) => {
    const body: unknown = request.body;
    const token = typeof body === 'object' && body !== null && 'csrfToken' in body ? body.csrfToken : undefined;
    return typeof token === 'string' ? token : request.get('X-CSRF-Token');
  },
});

/** The token that forms of this session have to send as `csrfToken`. */
export function csrfTokenOf(request: Request): string {
  return generateToken(request);
}

/**
 * Refuses a request that changes something and was not made from a page of this session. A request with a bearer token
 * is let through, because no browser sends one by itself; whoever reads it must then ignore the session.
 */
export const csrfProtection: RequestHandler = (request, response, next) => {
  if (request.get('Authorization') !== undefined) return next();
  const site = request.get('Sec-Fetch-Site');
  if (!isSafe(request.method) && site !== undefined && site !== 'same-origin' && site !== 'none') {
    return next(staleForm());
  }
  csrfSynchronisedProtection(request, response, (error: unknown) => next(error ? staleForm() : undefined));
};

const isSafe = (method: string) => method === 'GET' || method === 'HEAD' || method === 'OPTIONS';

const staleForm = () =>
  new Refusal(403, 'This form is no longer valid', 'Nothing was changed. Open the page again and repeat what you did.');

/** What a site answers instead of a page: a status, what is the matter, and what to do next. All of it is for people. */
export class Refusal extends Error {
  readonly status: number;
  readonly nextStep: string;
  /** Where the next step is taken. */
  readonly link: { readonly href: string; readonly label: string } | undefined;

  constructor(status: number, title: string, nextStep: string, link?: { href: string; label: string }) {
    super(title);
    this.name = 'Refusal';
    this.status = status;
    this.nextStep = nextStep;
    this.link = link;
  }
}
