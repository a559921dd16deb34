import { randomUUID } from 'node:crypto';
import { errors, jwtVerify, type JWTVerifyGetKey } from 'jose';
import type { Clock } from '../clock.ts';
import { SIGNING_ALGORITHMS, type SignClaims } from './signing-key.ts';

/** The signer has this one key for tokens of other kinds, too: none of them may open what this one opens. */
const TYP = 'service+jwt';
const VALID_SECONDS = 60;
/** How far the clocks of two services may be apart (ARAP-CLK-01). */
const SKEW_SECONDS = 30;

interface Presenting {
  readonly issuer: string;
  readonly audience: string;
  readonly clock: Clock;
}

/** Proves to another service who is calling, with the key that it trusts already: no secret is shared. A new one for each request. */
export function createServiceToken(sign: SignClaims, of: Presenting): () => Promise<string> {
  return () => {
    const now = Math.floor(of.clock.now() / 1_000);
    return sign({ iss: of.issuer, aud: of.audience, iat: now, exp: now + VALID_SECONDS, jti: randomUUID() }, TYP);
  };
}

/** Whether a bearer token is such a proof. Throws when the keys that would tell cannot be had. */
export async function isServiceToken(
  token: string,
  of: Presenting & { readonly keys: JWTVerifyGetKey },
): Promise<boolean> {
  const { keys, issuer, audience, clock } = of;
  try {
    await jwtVerify(token, keys, {
      ...{ issuer, audience, typ: TYP, algorithms: [...SIGNING_ALGORITHMS] },
      ...{ maxTokenAge: VALID_SECONDS, clockTolerance: SKEW_SECONDS },
      // Read when it is compared: the keys may take long to come.
      get currentDate() {
        return new Date(clock.now());
      },
    });
    return true;
  } catch (error) {
    if (error instanceof errors.JOSEError && !KEYS_UNREACHABLE.has(error.code)) return false;
    throw error;
  }
}

/** Codes that say nothing about a token: the key set did not arrive, or what arrived is none. */
export const KEYS_UNREACHABLE: ReadonlySet<string> = new Set([
  'ERR_JOSE_GENERIC',
  'ERR_JWKS_TIMEOUT',
  'ERR_JWKS_INVALID',
]);
