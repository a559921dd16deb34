import { randomUUID } from 'node:crypto';
import { errors, importJWK, type JWK, type JWTPayload, jwtVerify, type JWTVerifyGetKey, SignJWT } from 'jose';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { Clock } from '../clock.ts';

/** What tokens between PDP and access request service are signed with. A key has one of the two, by its curve (PRJ-03). */
export const SIGNING_ALGORITHMS = ['ES256', 'EdDSA'] as const;
const FORMS = [
  { kty: 'EC', crv: 'P-256', alg: 'ES256' },
  { kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA' },
] as const;

type KeyMembers = Readonly<Partial<Record<'kty' | 'crv' | 'x' | 'y' | 'kid', string | undefined>>>;

/**
 * The half of a key that everybody may see, with the one algorithm that it verifies. Throws `ERR_CONFIG_INVALID` when it
 * is no P-256 or Ed25519 key with a kid.
 */
export function publicKey(key: KeyMembers) {
  const form = formOf(key);
  const { x, y, kid } = key;
  if (form === undefined || !x || !kid || (form.kty === 'EC' && !y)) {
    throw new CountersignError(
      'ERR_CONFIG_INVALID',
      'A signing key is not an EC P-256 or Ed25519 key with a kid. Make a new one.',
    );
  }
  return { ...form, x, ...(form.kty === 'EC' && y && { y }), kid, use: 'sig' };
}

/** The keys of a foreign key set that can verify anything here, with only the members that verification needs. */
export function publicKeys(keys: readonly JWK[]): JWK[] {
  return keys
    .filter((key) => formOf(key) !== undefined && key.x && key.kid && (key.kty === 'OKP' || key.y))
    .map(publicKey);
}

const formOf = ({ kty, crv }: KeyMembers) => FORMS.find((form) => form.kty === kty && form.crv === crv);

/** Signs claims that have all times in them. `typ` says what the token is, where two kinds have one signer. */
export type SignClaims = (claims: JWTPayload, typ?: string) => Promise<string>;

/** Takes a private key. Throws `ERR_CONFIG_INVALID` when it is no P-256 or Ed25519 key with a kid. */
export async function createSigner(key: JWK): Promise<SignClaims> {
  const { alg, kid } = publicKey(key);
  const signingKey = await importJWK(key, alg);
  return (claims, typ = 'JWT') => new SignJWT(claims).setProtectedHeader({ alg, typ, kid }).sign(signingKey);
}

/** The signer uses the same key for tokens of other kinds, which must not be accepted in place of this one. */
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
