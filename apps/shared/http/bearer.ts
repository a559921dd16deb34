import { createHash, timingSafeEqual } from 'node:crypto';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { senderIsKnown } from './address-limit.ts';
import { Refusal } from './csrf.ts';

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
 * Throws a `Refusal` (403) with the challenge that names the scopes a good token lacks. @see RFC 6750, section 3.1
 */
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
 * Lets requests with one of these bearer tokens through; whose it was is in `bearerHolderOf`. Everybody else is challenged, and
 * `refuse` answers them with 401 in the form of its service.
 */
export function bearerAmong<Holder extends { readonly token: string }>(
  { holders, realm }: { holders: readonly Holder[]; realm: string },
  refuse: Refuse,
): RequestHandler {
  const expected = holders.map((holder) => ({ holder, digest: sha256(holder.token) }));
  return (request, response, next) => {
    const given = bearerTokenOf(request);
    // Both sides are hashed first, and all are looked at, so that the comparison takes the same time whatever was sent.
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

/** Who passed `bearerAmong`. Throws when nobody did: such a request never gets this far. */
export function bearerHolderOf<Holder>(response: Response): Holder {
  const holder = response.locals['bearerHolder'] as Holder | undefined;
  if (holder === undefined) throw new Error('a request without a bearer token got past the check of it');
  return holder;
}

const sha256 = (text: string) => createHash('sha256').update(text).digest();
