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
export const csrfTokenOf = (request: Request): string => generateToken(request);

/**
 * Refuses a request that changes state and does not come from a page of this session. A request with a bearer token passes, because no
 * browser sends one by itself. Its handler must then ignore the session.
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

/** An answer instead of a page: a status, the problem, and the next step, in words for people. */
export class Refusal extends Error {
  readonly status: number;
  readonly nextStep: string;
  /** Leads to the next step. */
  readonly link: { readonly href: string; readonly label: string } | undefined;

  constructor(status: number, title: string, nextStep: string, link?: { href: string; label: string }) {
    super(title);
    this.name = 'Refusal';
    this.status = status;
    this.nextStep = nextStep;
    this.link = link;
  }
}
