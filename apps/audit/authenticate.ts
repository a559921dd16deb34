import type { Request, RequestHandler, Response } from 'express';
import { AUDITOR_ROLE } from '../../workflows/domain/gated-call/outcome-record.ts';
import type { AccessToken } from '../shared/auth/access-token.ts';
import type { PersonOf } from '../shared/auth/sign-in.ts';
import { signInPath } from '../shared/auth/sign-in-path.ts';
import type { Directory } from '../shared/directory/directory.ts';
import { bearerTokenOf, challenge, demandScopes } from '../shared/http/bearer.ts';
import { csrfTokenOf, Refusal } from '../shared/http/csrf.ts';
import { inLogScope } from '../shared/log-scope.ts';
import { setSignedIn } from '../shared/pages/layout.tsx';
import { wantsPage } from '../shared/pages/refusal-page.tsx';

interface Doors {
  readonly personOf: PersonOf;
  /** Returns undefined for an invalid token. */
  readonly verifyAccessToken: (token: string) => Promise<AccessToken | undefined>;
  readonly people: () => Directory;
  /** Scopes that a token needs. */
  readonly scopes: readonly string[];
  /** Public address, and the audience of auditors' tokens. */
  readonly url: string;
}

interface Visitor {
  readonly subject: string;
  readonly roles: readonly string[];
}

/**
 * Lets auditors through: a program by its bearer token, even if it also has a session, and a browser by its session. Each request reads
 * the directory; the issuer is asked as often as `identity.recheckSeconds` says.
 */
export function auditorsOnly({ personOf, verifyAccessToken, people, scopes, url }: Doors): RequestHandler {
  const refuse = (response: Response, nextStep: string, problem?: 'invalid_token') => {
    challenge(response, url, problem);
    return new Refusal(401, 'You are not signed in', nextStep);
  };
  const byToken = async (request: Request, response: Response): Promise<Visitor> => {
    const token = bearerTokenOf(request);
    const verified = token === undefined ? undefined : await verifyAccessToken(token);
    if (verified === undefined) {
      const nextStep = 'The bearer token is not valid: it may have expired, or be meant for another service.';
      throw refuse(response, nextStep, 'invalid_token');
    }
    demandScopes(response, { realm: url, held: verified.scopes, needed: scopes });
    return { subject: verified.principal.subject, roles: verified.roles };
  };
  return async (request, response, next) => {
    response.set('Vary', 'Accept, Authorization, Cookie');
    const isProgram = request.get('Authorization') !== undefined;
    const person = isProgram ? undefined : await personOf(request);
    if (person !== undefined) setSignedIn(response, { name: person.name, csrfToken: csrfTokenOf(request) });
    else if (wantsPage(request)) return response.redirect(303, signInPath(request.originalUrl));
    else if (!isProgram) throw refuse(response, `Send a bearer token of an auditor whose audience is ${url}.`);
    const { subject, roles } = person ?? (await byToken(request, response));
    if (roles.includes(AUDITOR_ROLE) && people().find(subject)?.isActive !== false)
      return inLogScope({ subject }, next);
    const nextStep = 'Only people with the role “auditor” can read outcome records. Sign in as a person who has it.';
    throw new Refusal(403, 'You are not an auditor', nextStep);
  };
}
