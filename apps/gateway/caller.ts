import { OAuthError, OAuthErrorCode, type AuthInfo, type OAuthTokenVerifier } from '@modelcontextprotocol/server';
import type { Logger } from 'pino';
import type { JsonObject } from '../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../workflows/domain/errors.ts';
import type { Principal } from '../../workflows/domain/principal.ts';
import { NO_CLIENT, type ClientDemand } from '../shared/auth/client-demand.ts';

/** A bearer token whose signature, issuer, audience and lifetime were checked. */
export interface VerifiedToken {
  readonly principal: Principal;
  readonly scopes: readonly string[];
  /** Everything that the token says. */
  readonly claims: JsonObject;
  /** Seconds since the epoch. */
  readonly expiresAt: number;
}

/** Checks the tokens of agents. Throws `ERR_TOKEN_INVALID` for one that is not good, whatever is wrong with it. */
export interface TokenVerifier {
  verify(token: string): Promise<VerifiedToken>;
}

export interface BearerVerification {
  readonly verifier: TokenVerifier;
  readonly hasClient: ClientDemand;
  readonly resource: URL;
  readonly log: Logger;
}

/** The verifier in the form that the SDK's bearer authentication takes; the token's own text says nothing to the client. */
export function bearerVerifier({ verifier, hasClient, resource, log }: BearerVerification): OAuthTokenVerifier {
  return {
    async verifyAccessToken(token) {
      const { principal, scopes, claims, expiresAt } = await verified(verifier, token, log);
      if (!hasClient(principal)) throw new OAuthError(OAuthErrorCode.InvalidToken, NO_CLIENT);
      return {
        token,
        clientId: principal.clientId ?? '',
        scopes: [...scopes],
        expiresAt,
        resource,
        extra: { principal, claims },
      };
    },
  };
}

async function verified(verifier: TokenVerifier, token: string, log: Logger): Promise<VerifiedToken> {
  try {
    return await verifier.verify(token);
  } catch (error) {
    if (error instanceof CountersignError && error.code === 'ERR_TOKEN_INVALID') {
      throw new OAuthError(OAuthErrorCode.InvalidToken, 'The access token is not valid here');
    }
    // Keys that cannot be read are our fault, not the token's: the client is not told to get another one.
    log.error({ err: error }, 'tokens cannot be checked');
    throw error;
  }
}

/** The caller of a request that passed authentication. Throws when it did not: such a request never gets this far. */
export function callerOf(auth: AuthInfo | undefined): Principal {
  const principal = auth?.extra?.['principal'];
  if (principal === undefined) throw new Error('a request without an authenticated caller reached the protocol layer');
  return principal as Principal;
}

/** What the token of a request that passed authentication says. */
export function claimsOf(auth: AuthInfo | undefined): JsonObject {
  return (auth?.extra?.['claims'] ?? {}) as JsonObject;
}
