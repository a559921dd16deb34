import { importJWK, SignJWT, type JWK, type JWTPayload } from 'jose';
import { CountersignError } from '../../../workflows/domain/errors.ts';

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

/** Those of a foreign key set that can verify anything here, without whatever else it says of them. */
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
