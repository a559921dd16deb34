import { randomUUID } from 'node:crypto';
import { errors, importJWK, type JWK, type JWTPayload, jwtVerify, type JWTVerifyGetKey, SignJWT } from 'jose';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { Clock } from '../clock.ts';

/** Algorithms of tokens between PDP and access request service. The curve of a key determines which one (PRJ-03). */
export const SIGNING_ALGORITHMS = ['ES256', 'EdDSA'] as const;
const FORMS = [
  { kty: 'EC', crv: 'P-256', alg: 'ES256' },
  { kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA' },
] as const;

type KeyMembers = Readonly<Partial<Record<'kty' | 'crv' | 'x' | 'y' | 'kid', string | undefined>>>;

/** The public half of a key, with its one algorithm. Throws `ERR_CONFIG_INVALID` for any but a P-256 or Ed25519 key with a kid. */
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

/** The usable keys of a foreign key set, without their other members. */
export function publicKeys(keys: readonly JWK[]): JWK[] {
  return keys
    .filter((key) => formOf(key) !== undefined && key.x && key.kid && (key.kty === 'OKP' || key.y))
    .map(publicKey);
}

const formOf = ({ kty, crv }: KeyMembers) => FORMS.find((form) => form.kty === kty && form.crv === crv);

/** Signs claims, which include all times. `typ` tells apart the kinds of tokens of one signer. */
export type SignClaims = (claims: JWTPayload, typ?: string) => Promise<string>;

/** Takes a private key. Throws as `publicKey` does. */
export async function createSigner(key: JWK): Promise<SignClaims> {
  const { alg, kid } = publicKey(key);
  const signingKey = await importJWK(key, alg);
  return (claims, typ = 'JWT') => new SignJWT(claims).setProtectedHeader({ alg, typ, kid }).sign(signingKey);
}

/** Tolerated difference between the clocks of two services (ARAP-CLK-01). */
export const SKEW_SECONDS = 30;

/** How PDP and access request service check each other's tokens. A getter reads the time after the keys, which may take long to come. */
export const checkedBy = <Expected extends object>(clock: Clock, of: Expected) => ({
  ...{ ...of, algorithms: [...SIGNING_ALGORITHMS], clockTolerance: SKEW_SECONDS },
  get currentDate() {
    return new Date(clock.now());
  },
});

/** The signer uses the same key for tokens of other kinds, which must not pass for a service token. */
const TYP = 'service+jwt';
const VALID_SECONDS = 60;

interface Presenting {
  readonly issuer: string;
  readonly audience: string;
  readonly clock: Clock;
}

/** Makes a token that proves to another service who is calling, with a key that it already trusts. One token for each request. */
export function createServiceToken(sign: SignClaims, of: Presenting): () => Promise<string> {
  return () => {
    const now = Math.floor(of.clock.now() / 1_000);
    return sign({ iss: of.issuer, aud: of.audience, iat: now, exp: now + VALID_SECONDS, jti: randomUUID() }, TYP);
  };
}

/** Whether a bearer token is a valid service token. Throws when the keys cannot be read. */
export async function isServiceToken(
  token: string,
  of: Presenting & { readonly keys: JWTVerifyGetKey },
): Promise<boolean> {
  const { keys, issuer, audience, clock } = of;
  try {
    await jwtVerify(token, keys, checkedBy(clock, { issuer, audience, typ: TYP, maxTokenAge: VALID_SECONDS }));
    return true;
  } catch (error) {
    if (error instanceof errors.JOSEError && !KEYS_UNREACHABLE.has(error.code)) return false;
    throw error;
  }
}

/** Codes of errors that are not about the token: the key set did not arrive, or is invalid. */
export const KEYS_UNREACHABLE: ReadonlySet<string> = new Set([
  'ERR_JOSE_GENERIC',
  'ERR_JWKS_TIMEOUT',
  'ERR_JWKS_INVALID',
]);
