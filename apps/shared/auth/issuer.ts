import * as oidc from 'openid-client';
import { createRemoteJWKSet } from 'jose';
import type { Logger } from 'pino';
import { isLoopbackHttp } from '../http/known-hosts.ts';
import { Refusal } from '../http/csrf.ts';
import type { Limits } from '../limits.ts';
import { signInPath } from './sign-in-path.ts';

interface IssuerOptions {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly limits: Limits;
  readonly log: Logger;
}

export type Issuer = ReturnType<typeof createIssuer>;

/** The OpenID provider at which people sign in, discovered through its metadata at the first use. */
export function createIssuer({ issuer, clientId, clientSecret, limits, log }: IssuerOptions) {
  const timeout = limits.signInMs / 1_000;
  const url = new URL(issuer);
  // Tokens over plain http only where no other machine can listen (PRJ-25).
  const execute = isLoopbackHttp(url) ? [oidc.allowInsecureRequests] : [];
  const discover = () =>
    oidc.discovery(url, clientId, clientSecret, undefined, { execute, timeout }).then((known) => {
      const keys = new URL(known.serverMetadata().jwks_uri ?? url);
      // An attacker who answers in the issuer's place could sign anything.
      if (keys.protocol !== 'https:' && !isLoopbackHttp(keys))
        throw new Error('the keys of the issuer are not served over https');
      return { known, keys: createRemoteJWKSet(keys, { timeoutDuration: limits.issuerMs }) };
    });
  let found: ReturnType<typeof discover> | undefined;
  const away = (err: unknown): Refusal => {
    log.warn({ err }, 'the identity provider does not answer as expected');
    return new Refusal(
      503,
      'The identity provider does not answer',
      'Your roles come from it, so nothing was shown or decided. Try again in a moment, or sign in again.',
      { href: signInPath('/'), label: 'Sign in again' },
    );
  };
  const read = () =>
    (found ??= discover()).catch((error: unknown) => {
      found = undefined;
      throw away(error);
    });
  return {
    /** Logs the cause, and returns the refusal (503). */
    away,
    /** Throws a `Refusal` (503) when the issuer does not answer. */
    configuration: async () => (await read()).known,
    /** Its public keys. Throws as `configuration` does. */
    keys: async () => (await read()).keys,
  };
}
