import * as oidc from 'openid-client';
import * as z from 'zod';
import type { Issuer } from './issuer.ts';
import { rolesIn } from './principal-of.ts';

/** The tokens with which the issuer is asked about a person who signed in. */
export const proofSchema = z.object({
  accessToken: z.string(),
  refreshToken: z.string().optional(),
  /** Identifies the session to the issuer at sign-out. */
  idToken: z.string(),
  /** Where the issuer reports the person's current roles, after the ID token of the sign-in. */
  source: z.enum(['userinfo', 'id_token', 'none']),
});
export type Proof = z.infer<typeof proofSchema>;

/** The issuer's current answer about a person, and the proof with which to ask the next time. */
export interface Answer {
  readonly roles: readonly string[];
  readonly proof: Proof;
}

type Tokens = Awaited<ReturnType<typeof oidc.authorizationCodeGrant>>;

/**
 * The part of a sign-in that is stored. UserInfo is asked at once, to learn whether it reports roles. If it does not, a refreshed ID token
 * does. Without a refresh token, the person has to sign in again each time. Throws a `Refusal` (503) when the issuer does not answer.
 */
export async function proofOf(
  tokens: Tokens,
  { issuer, subject, rolesClaim }: { issuer: Issuer; subject: string; rolesClaim: string },
): Promise<Answer> {
  const own = rolesIn(tokens.claims() ?? {}, rolesClaim);
  const { access_token: accessToken, refresh_token: refreshToken, id_token: idToken = '' } = tokens;
  const held = { accessToken, idToken, ...(refreshToken !== undefined && { refreshToken }) };
  const claims = await userInfo(issuer, accessToken, subject);
  const reported = claims && rolesIn(claims, rolesClaim);
  if (reported !== undefined && (own.length === 0 || reported.length > 0)) {
    return { roles: reported, proof: { ...held, source: 'userinfo' } };
  }
  return { roles: own, proof: { ...held, source: refreshToken === undefined ? 'none' : 'id_token' } };
}

/**
 * Asks the issuer for the person's current roles. Undefined when the sign-in has ended there: the person signed out or was disabled, or
 * the tokens expired. Throws a `Refusal` (503) when the issuer does not answer.
 * @see OpenID Connect Core 1.0, sections 5.3 and 12
 */
export async function askAgain(
  { proof, subject, rolesClaim }: { proof: Proof; subject: string; rolesClaim: string },
  issuer: Issuer,
): Promise<Answer | undefined> {
  if (proof.source === 'none') return undefined;
  if (proof.source === 'userinfo') {
    const claims = await userInfo(issuer, proof.accessToken, subject);
    if (claims !== undefined) return { roles: rolesIn(claims, rolesClaim), proof };
  }
  const renewed = await refresh(proof, subject, issuer);
  if (renewed === undefined) return undefined;
  const claims =
    proof.source === 'userinfo' ? await userInfo(issuer, renewed.proof.accessToken, subject) : renewed.claims;
  return claims && { roles: rolesIn(claims, rolesClaim), proof: renewed.proof };
}

type Claims = Readonly<Record<string, unknown>>;

/** Undefined when the issuer has no such endpoint, or refuses the token. */
async function userInfo(issuer: Issuer, accessToken: string, subject: string): Promise<Claims | undefined> {
  const configuration = await issuer.configuration();
  if (configuration.serverMetadata().userinfo_endpoint === undefined) return undefined;
  return unlessRefused(issuer, () => oidc.fetchUserInfo(configuration, accessToken, subject));
}

/** Undefined without a refresh token, or when the issuer refuses it. */
async function refresh(proof: Proof, subject: string, issuer: Issuer) {
  const { refreshToken } = proof;
  if (refreshToken === undefined) return undefined;
  const configuration = await issuer.configuration();
  const tokens = await unlessRefused(issuer, () => oidc.refreshTokenGrant(configuration, refreshToken));
  if (tokens === undefined) return undefined;
  const claims = tokens.claims();
  // The subject of a person never changes: with another one, the tokens are another person's.
  if (claims !== undefined && claims.sub !== subject) return undefined;
  const renewed: Proof = {
    ...proof,
    accessToken: tokens.access_token,
    refreshToken: tokens.refresh_token ?? refreshToken,
    idToken: tokens.id_token ?? proof.idToken,
  };
  return { claims, proof: renewed };
}

/** Undefined for a refusal; throws without an answer. Only a refusal ends a session. */
async function unlessRefused<Given>(issuer: Issuer, ask: () => Promise<Given>): Promise<Given | undefined> {
  try {
    return await ask();
  } catch (error) {
    if (isRefused(error)) return undefined;
    throw issuer.away(error);
  }
}

const REFUSED: readonly unknown[] = [401, 403];

/** @see RFC 6750, section 3.1; RFC 6749, section 5.2 */
function isRefused(error: unknown): boolean {
  if (error instanceof oidc.WWWAuthenticateChallengeError) return REFUSED.includes(error.status);
  if (error instanceof oidc.ResponseBodyError) {
    // `invalid_client` means that our own secret is wrong, so the person's session goes on.
    return [400, 401, 403].includes(error.status) && error.error !== 'invalid_client';
  }
  // A refusal without a challenge.
  const cause = error instanceof oidc.ClientError ? error.cause : undefined;
  return typeof cause === 'object' && cause !== null && 'status' in cause && REFUSED.includes(cause.status);
}
