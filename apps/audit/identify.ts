import type { Request } from 'express';
import { CountersignError } from '../../workflows/domain/errors.ts';
import { personOf } from '../shared/auth/sign-in.ts';
import type { TokenVerifier } from '../shared/auth/token-verifier.ts';
import { bearerTokenOf } from '../shared/http/bearer.ts';
import { csrfTokenOf } from '../shared/http/csrf.ts';
import type { Visitor } from './http.ts';

const ROLE = 'auditor';

/** Tells who asks: a program by its bearer token, and only by that when it sends one; a browser by its session. */
export function createIdentify(
  verifier: TokenVerifier,
  scopes: readonly string[],
): (request: Request) => Promise<Visitor> {
  return async (request) => {
    if (request.get('Authorization') !== undefined) return byToken(verifier, bearerTokenOf(request), scopes);
    const person = personOf(request);
    if (person === undefined) return { kind: 'nobody' };
    return { kind: kindOf(person.roles), subject: person.subject, name: person.name, csrfToken: csrfTokenOf(request) };
  };
}

async function byToken(
  verifier: TokenVerifier,
  token: string | undefined,
  scopes: readonly string[],
): Promise<Visitor> {
  if (token === undefined) return { kind: 'nobody', problem: 'invalid_token' };
  try {
    const { principal, roles, scopes: held } = await verifier.verify(token);
    if (!scopes.every((scope) => held.includes(scope))) return { kind: 'nobody', problem: 'insufficient_scope' };
    return { kind: kindOf(roles), subject: principal.subject, name: principal.subject };
  } catch (error) {
    if (error instanceof CountersignError && error.code === 'ERR_TOKEN_INVALID') {
      return { kind: 'nobody', problem: 'invalid_token' };
    }
    throw error;
  }
}

const kindOf = (roles: readonly string[]) => (roles.includes(ROLE) ? 'auditor' : 'stranger');
