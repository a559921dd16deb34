import type { Request, RequestHandler, Response } from 'express';
import type { Approver, VoteChannel } from '../../../workflows/domain/access-request/access-request.ts';
import { APPROVER_ROLE } from '../../../workflows/domain/access-request/eligibility.ts';
import type { AccessToken } from '../../shared/auth/access-token.ts';
import { personOf, requireRole } from '../../shared/auth/sign-in.ts';
import { bearerTokenOf, challenge } from '../../shared/http/bearer.ts';
import { Refusal } from '../../shared/http/refusal.ts';

/** Who uses the inbox, and through which door. */
export interface Visitor extends Approver {
  readonly name: string;
  readonly via: Extract<VoteChannel, 'inbox' | 'api'>;
}

/** Answers undefined for a token that is not good. */
export type VerifyAccessToken = (token: string) => Promise<AccessToken | undefined>;

/** Lets approvers through, by bearer token or else by session: a request with a token never uses the session. */
export function approversOnly(verify: VerifyAccessToken, realm: string): RequestHandler {
  const withSession = requireRole(APPROVER_ROLE);
  return async (request, response, next) => {
    response.vary('Accept, Authorization, Cookie');
    if (request.get('Authorization') === undefined) {
      return withSession(request, response, (error?: unknown) => {
        const person = personOf(request);
        if (error === undefined && person !== undefined) setVisitor(response, { ...person, via: 'inbox' });
        next(error);
      });
    }
    const token = bearerTokenOf(request);
    const verified = token === undefined ? undefined : await verify(token);
    if (verified === undefined) {
      challenge(response, realm, 'invalid_token');
      throw new Refusal(401, 'The bearer token is not valid', `It may have expired, or not be meant for ${realm}.`);
    }
    if (!verified.roles.includes(APPROVER_ROLE)) {
      throw new Refusal(403, 'You are not an approver', `The token lacks the role “${APPROVER_ROLE}”.`);
    }
    const { issuer, subject } = verified.principal;
    setVisitor(response, { issuer, subject, roles: verified.roles, name: subject, via: 'api' });
    next();
  };
}

function setVisitor(response: Response, visitor: Visitor): void {
  response.locals['visitor'] = visitor;
}

/** Who passed `approversOnly`. Throws when nobody did: such a request never gets this far. */
export function visitorOf(_request: Request, response: Response): Visitor {
  const visitor = response.locals['visitor'] as Visitor | undefined;
  if (visitor === undefined) throw new Error('a request without a visitor reached the inbox');
  return visitor;
}
