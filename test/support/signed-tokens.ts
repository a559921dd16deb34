import { importJWK, SignJWT, type JWTPayload } from 'jose';
import type { DevelopmentSecrets } from '../../apps/shared/config/development-secrets.ts';

/** A token of the embedded issuer with these claims, as another issuer may give them out. A claim that is undefined is left out. */
export async function signedToken(
  { identity: { signingKey } }: Pick<DevelopmentSecrets, 'identity'>,
  claims: JWTPayload,
): Promise<string> {
  return new SignJWT(claims)
    .setProtectedHeader({ alg: 'ES256', kid: String(signingKey.kid) })
    .setExpirationTime('1 hour')
    .sign(await importJWK(signingKey, 'ES256'));
}
