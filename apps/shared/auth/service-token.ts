import { randomUUID } from 'node:crypto';
import { errors, jwtVerify, type JWTVerifyGetKey } from 'jose';
import { SIGNING_ALGORITHMS, type SignClaims } from './signing-key.ts';

/** The signer has this one key for tokens of other kinds, too: none of them may open what this one opens. */
const TYP = 'service+jwt';
const VALID_SECONDS = 60;
/** How far the clocks of two services may be apart (ARAP-CLK-01). */
const SKEW_SECONDS = 30;

/** Proves to another service who is calling, with the key that it trusts already: no secret is shared. A new one for each request. */
export function createServiceToken(sign: SignClaims, of: { issuer: string; audience: string }): () => Promise<string> {
  return () => {
    const now = Math.floor(Date.now() / 1_000);
    return sign({ iss: of.issuer, aud: of.audience, iat: now, exp: now + VALID_SECONDS, jti: randomUUID() }, TYP);
  };
}

/** Whether a bearer token is such a proof. Throws when the keys that would tell cannot be had. */
export async function isServiceToken(
  token: string,
  of: { keys: JWTVerifyGetKey; issuer: string; audience: string },
): Promise<boolean> {
  const { keys, issuer, audience } = of;
  try {
    const times = { maxTokenAge: VALID_SECONDS, clockTolerance: SKEW_SECONDS };
    await jwtVerify(token, keys, { issuer, audience, typ: TYP, algorithms: [...SIGNING_ALGORITHMS], ...times });
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
