import * as oidc from 'openid-client';
import * as z from 'zod';
import type { Issuer } from './issuer.ts';
import { rolesIn } from './principal-of.ts';

/** Where the issuer says which roles a person has, beside the ID token of the sign-in. */
const SOURCES = ['userinfo', 'id_token', 'none'] as const;

/** With what the issuer is asked about a person who signed in. */
export const proofSchema = z.object({
  accessToken: z.string(),
  refreshToken: z.string().optional(),
  /** Says to the issuer whose session ends, at sign-out. */
  idToken: z.string(),
  source: z.enum(SOURCES),
});
export type Proof = z.infer<typeof proofSchema>;

/** What the issuer says of a person now, and with what it is asked the next time. */
export interface Answer {
  readonly roles: readonly string[];
  readonly proof: Proof;
}

type Tokens = Awaited<ReturnType<typeof oidc.authorizationCodeGrant>>;

/**
 * What is kept of a sign-in. UserInfo is asked at once, to learn whether it says the roles. Where it does not, a refreshed ID token
 * does; where there is none either, the person has to sign in again each time. Throws a `Refusal` (503) when the issuer is away.
 */
export async function proofOf(
  tokens: Tokens,
  { issuer, subject, rolesClaim }: { issuer: Issuer; subject: string; rolesClaim: string },
): Promise<Answer> {
  const own = rolesIn(tokens.claims() ?? {}, rolesClaim);
  const { access_token: accessToken, refresh_token: refreshToken, id_token: idToken = '' } = tokens;
  const held = { accessToken, idToken, ...(refreshToken !== undefined && { refreshToken }) };
  const claims = await userInfo(issuer, accessToken, subject);
  const told = claims && rolesIn(claims, rolesClaim);
  const isTold = told !== undefined && (own.length === 0 || told.length > 0);
  const source = isTold ? 'userinfo' : refreshToken === undefined ? 'none' : 'id_token';
  return { roles: isTold ? told : own, proof: { ...held, source } };
}

/**
 * Asks the issuer what the person may do now. Undefined when it knows of no such sign-in any more: signed out, disabled, or the
 * tokens are over. Throws a `Refusal` (503) when it does not say.
 * @see OpenID Connect Core 1.0, sections 5.3 and 12
 */
export async function askAgain(
  { proof, subject, rolesClaim }: { proof: Proof; subject: string; rolesClaim: string },
  issuer: Issuer,
): Promise<Answer | undefined> {
  if (proof.source === 'none') return undefined;
  if (proof.source === 'userinfo') {
    const told = await userInfo(issuer, proof.accessToken, subject);
    if (told !== undefined) return { roles: rolesIn(told, rolesClaim), proof };
  }
  const renewed = await refresh(proof, subject, issuer);
  if (renewed === undefined) return undefined;
  const told =
    proof.source === 'userinfo' ? await userInfo(issuer, renewed.proof.accessToken, subject) : renewed.claims;
  return told && { roles: rolesIn(told, rolesClaim), proof: renewed.proof };
}

type Claims = Readonly<Record<string, unknown>>;

/** Undefined when the issuer has no such endpoint, or takes the token for none. */
async function userInfo(issuer: Issuer, accessToken: string, subject: string): Promise<Claims | undefined> {
  const configuration = await issuer.configuration();
  if (configuration.serverMetadata().userinfo_endpoint === undefined) return undefined;
  return unlessRefused(issuer, () => oidc.fetchUserInfo(configuration, accessToken, subject));
}

/** Undefined when there is nothing to refresh with, or the issuer takes it for nothing. */
async function refresh(proof: Proof, subject: string, issuer: Issuer) {
  const { refreshToken } = proof;
  if (refreshToken === undefined) return undefined;
  const configuration = await issuer.configuration();
  const tokens = await unlessRefused(issuer, () => oidc.refreshTokenGrant(configuration, refreshToken));
  if (tokens === undefined) return undefined;
  const claims = tokens.claims();
  // Its subject never changes; one that does is another person's.
  if (claims !== undefined && claims.sub !== subject) return undefined;
  const renewed: Proof = {
    ...proof,
    accessToken: tokens.access_token,
    refreshToken: tokens.refresh_token ?? refreshToken,
    idToken: tokens.id_token ?? proof.idToken,
  };
  return { claims, proof: renewed };
}

/** Tells "no" from "no answer": only the first ends a session. */
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
    // A wrong secret of ours says nothing of the person.
    return [400, 401, 403].includes(error.status) && error.error !== 'invalid_client';
  }
  // An answer with such a status and without a challenge.
  const cause = error instanceof oidc.ClientError ? error.cause : undefined;
  return typeof cause === 'object' && cause !== null && 'status' in cause && REFUSED.includes(cause.status);
}
