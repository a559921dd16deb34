import { decodeJwt, decodeProtectedHeader, importJWK, SignJWT, type JWTPayload } from 'jose';
import type { DevelopmentSecrets } from '../../apps/shared/config/development-secrets.ts';

/**
 * A token of the embedded issuer with these claims, as another issuer may give them out. A claim that is undefined is
 * left out. By default the token was made now and is valid for an hour.
 */
export async function signedToken(
  { identity: { signingKey } }: Pick<DevelopmentSecrets, 'identity'>,
  claims: JWTPayload,
  header: { readonly typ?: string } = {},
): Promise<string> {
  const iat = Math.floor(Date.now() / 1_000);
  return new SignJWT({ iat, exp: iat + 3_600, ...claims })
    .setProtectedHeader({ alg: 'ES256', kid: String(signingKey.kid), ...header })
    .sign(await importJWK(signingKey, 'ES256'));
}

/** A token that the embedded issuer gave out, signed anew with other claims. */
export async function resigned(
  { identity: { signingKey } }: Pick<DevelopmentSecrets, 'identity'>,
  token: string,
  claims: object,
): Promise<string> {
  const { alg = '', ...header } = decodeProtectedHeader(token);
  const jwt = new SignJWT({ ...decodeJwt(token), ...claims }).setProtectedHeader({ alg, ...header });
  return jwt.sign(await importJWK(signingKey, alg));
}
