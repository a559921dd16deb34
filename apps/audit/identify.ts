import type { Request } from 'express';
import { CountersignError } from '../../workflows/domain/errors.ts';
import type { PersonOf } from '../shared/auth/sign-in.ts';
import type { TokenVerifier } from '../shared/auth/access-token.ts';
import type { Directory } from '../shared/directory/directory.ts';
import { bearerTokenOf } from '../shared/http/bearer.ts';
import { csrfTokenOf } from '../shared/http/csrf.ts';
import type { Visitor } from './http.ts';

const ROLE = 'auditor';

interface Identification {
  readonly verifier: TokenVerifier;
  readonly personOf: PersonOf;
  readonly people: () => Directory;
  /** Scopes that a token needs. */
  readonly scopes: readonly string[];
}

/**
 * Identifies a program by its bearer token, even if it also has a session, and a browser by its session. Each request reads the
 * directory; the issuer is asked as often as `identity.recheckSeconds` says.
 */
export function createIdentify({
  verifier,
  personOf,
  people,
  scopes,
}: Identification): (request: Request) => Promise<Visitor> {
  const kindOf = (subject: string, roles: readonly string[]) =>
    roles.includes(ROLE) && people().find(subject)?.isActive !== false ? 'auditor' : 'not_auditor';

  async function byToken(token: string | undefined): Promise<Visitor> {
    if (token === undefined) return { kind: 'anonymous', problem: 'invalid_token' };
    try {
      const { principal, roles, scopes: held } = await verifier.verify(token);
      if (!scopes.every((scope) => held.includes(scope))) return { kind: 'anonymous', problem: 'insufficient_scope' };
      const { subject } = principal;
      return { kind: kindOf(subject, roles), subject, name: subject };
    } catch (error) {
      if (error instanceof CountersignError && error.code === 'ERR_TOKEN_INVALID') {
        return { kind: 'anonymous', problem: 'invalid_token' };
      }
      throw error;
    }
  }

  return async (request) => {
    if (request.get('Authorization') !== undefined) return byToken(bearerTokenOf(request));
    const person = await personOf(request);
    if (person === undefined) return { kind: 'anonymous' };
    const { subject, name, roles } = person;
    return { kind: kindOf(subject, roles), subject, name, csrfToken: csrfTokenOf(request) };
  };
}
