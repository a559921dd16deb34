import type { Logger } from 'pino';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { Config } from '../config/config.ts';
import type { Timing } from '../limits.ts';
import { createAccessTokenVerifier, type AccessToken } from './access-token.ts';

/** Checks access tokens for one service. */
export interface TokenVerifier {
  /**
   * Whose token it is. Throws `ERR_TOKEN_INVALID` for a token that is not good, whatever is wrong with it, and
   * `ERR_IDENTITY_PROVIDER_UNAVAILABLE` when the issuer's keys cannot be read.
   */
  verify(token: string): Promise<AccessToken>;
}

/** A verifier for tokens of the configured issuer that are made for `audience`, and not older than is said. */
export function createTokenVerifier(
  config: Config,
  audience: string,
  { log, ...time }: Timing & { readonly log: Logger },
  maxAgeSeconds?: number,
): TokenVerifier {
  const { issuer } = config.urls;
  const { rolesClaim, maxTokenLifetimeSeconds: maxLifetimeSeconds } = config.identity;
  const { identityClaim } = config.gateway.coaz;
  const of = { issuer, audience, rolesClaim, identityClaim };
  const check = createAccessTokenVerifier({ ...of, maxLifetimeSeconds, maxAgeSeconds, log, ...time });
  return {
    async verify(token) {
      const verified = await check(token);
      if (verified !== undefined) return verified;
      throw new CountersignError('ERR_TOKEN_INVALID', 'the access token is not valid here; get a new one');
    },
  };
}
