import { createHash, timingSafeEqual } from 'node:crypto';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { senderIsKnown } from './address-limit.ts';
import { Refusal } from './csrf.ts';

/** The bearer token of a request; undefined without one. @see RFC 6750 */
export function bearerTokenOf(request: Request): string | undefined {
  return /^Bearer +(\S+) *$/i.exec(request.get('Authorization') ?? '')?.[1];
}

/** Sets the header that asks for a credential, with the fault of the one that was sent. @see RFC 6750, section 3 */
export function challenge(response: Response, realm: string, problem?: 'invalid_token'): void {
  const error = problem === undefined ? '' : `, error="${problem}"`;
  response.set('WWW-Authenticate', `Bearer realm="${realm}"${error}`);
}

/** Throws a `Refusal` (403), with a challenge that names the scopes, when a valid token lacks one. @see RFC 6750, section 3.1 */
export function demandScopes(
  response: Response,
  of: { readonly realm: string; readonly held: readonly string[]; readonly needed: readonly string[] },
): void {
  if (of.needed.every((scope) => of.held.includes(scope))) return;
  const scope = of.needed.join(' ');
  response.set('WWW-Authenticate', `Bearer realm="${of.realm}", error="insufficient_scope", scope="${scope}"`);
  throw new Refusal(403, 'The bearer token lacks a scope', `Get a token with the scope “${scope}”.`);
}

type Refuse = (why: 'missing' | 'invalid', response: Response, next: NextFunction) => void;

/**
 * Passes requests with one of these bearer tokens on; `bearerHolderOf` returns its holder. Challenges all others, and `refuse` answers
 * them with 401 in the form of its service.
 */
export function bearerAmong<Holder extends { readonly token: string }>(
  { holders, realm }: { holders: readonly Holder[]; realm: string },
  refuse: Refuse,
): RequestHandler {
  const expected = holders.map((holder) => ({ holder, digest: sha256(holder.token) }));
  return (request, response, next) => {
    const given = bearerTokenOf(request);
    // Both sides are hashed, and all holders are compared, so that the time does not depend on the token that was sent.
    const digest = sha256(given ?? '');
    const [known] = expected.filter((one) => timingSafeEqual(digest, one.digest));
    if (given !== undefined && known !== undefined) {
      response.locals['bearerHolder'] = known.holder;
      senderIsKnown(response);
      return next();
    }
    challenge(response, realm, given === undefined ? undefined : 'invalid_token');
    refuse(given === undefined ? 'missing' : 'invalid', response, next);
  };
}

/** The holder of the token that passed `bearerAmong`. */
export function bearerHolderOf<Holder>(response: Response): Holder {
  const holder = response.locals['bearerHolder'] as Holder | undefined;
  if (holder === undefined) throw new Error('this request did not pass the check of its bearer token');
  return holder;
}

const sha256 = (text: string) => createHash('sha256').update(text).digest();
