import { createHash, timingSafeEqual } from 'node:crypto';
import type { NextFunction, Request, RequestHandler, Response } from 'express';

/** The bearer token of a request; undefined when it has none, or a credential of another kind. @see RFC 6750 */
export function bearerTokenOf(request: Request): string | undefined {
  return /^Bearer +(\S+) *$/i.exec(request.get('Authorization') ?? '')?.[1];
}

/** Says in the answer which credential is wanted, and whether the one that came is at fault. @see RFC 6750, section 3 */
export function challenge(response: Response, realm: string, problem?: 'invalid_token'): void {
  const error = problem === undefined ? '' : `, error="${problem}"`;
  response.set('WWW-Authenticate', `Bearer realm="${realm}"${error}`);
}

/**
 * Lets requests with this one bearer token through. Everybody else is challenged, and `refuse` answers them with 401 in
 * the form of its service.
 */
export function bearerOnly(
  { token, realm }: { token: string; realm: string },
  refuse: (why: 'missing' | 'invalid', response: Response, next: NextFunction) => void,
): RequestHandler {
  const expected = sha256(token);
  return (request, response, next) => {
    const given = bearerTokenOf(request);
    // Both sides are hashed first, so that the comparison takes the same time whatever was sent.
    if (given !== undefined && timingSafeEqual(sha256(given), expected)) return next();
    challenge(response, realm, given === undefined ? undefined : 'invalid_token');
    refuse(given === undefined ? 'missing' : 'invalid', response, next);
  };
}

const sha256 = (text: string) => createHash('sha256').update(text).digest();
