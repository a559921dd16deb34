import { errors, jwtVerify } from 'jose';
import * as z from 'zod';
import { ALGORITHMS } from './access-token.ts';
import type { Issuer } from './issuer.ts';
import { KEYS_UNREACHABLE } from './signing-key.ts';

const EVENT = 'http://schemas.openid.net/event/backchannel-logout';
/** Issuers send a token as soon as they issue it. */
const MAX_AGE_SECONDS = 120;
const SKEW_SECONDS = 30;
/** Tokens of other kinds have another `typ`. A token without `typ` is judged by its claims. */
const TYPES: readonly unknown[] = [undefined, 'jwt', 'logout+jwt'];

/** Which sessions end: all of the subject, the one with this `sid`, or, with both, that one if it is the subject's. */
export interface Logout {
  readonly subject?: string;
  readonly sid?: string;
  /** Seconds since the epoch, by the issuer's clock. */
  readonly issuedAt: number;
}

const claimsSchema = z.looseObject({
  iat: z.number(),
  jti: z.string().min(1),
  sub: z.string().min(1).optional(),
  sid: z.string().min(1).optional(),
  events: z.looseObject({ [EVENT]: z.looseObject({}) }),
  nonce: z.undefined().optional(),
});

/**
 * Verifies and reads a logout token; undefined for any other token. Throws a `Refusal` (503) when the issuer's keys cannot be read.
 * @see OpenID Connect Back-Channel Logout 1.0, sections 2.4 and 2.6
 */
export async function readLogoutToken(
  token: string,
  of: Pick<Issuer, 'keys' | 'away'> & { readonly issuer: string; readonly clientId: string },
): Promise<Logout | undefined> {
  const keys = await of.keys();
  try {
    const { payload, protectedHeader } = await jwtVerify(token, keys, {
      issuer: of.issuer,
      audience: of.clientId,
      algorithms: ALGORITHMS,
      requiredClaims: ['exp', 'jti', 'events'],
      maxTokenAge: MAX_AGE_SECONDS,
      clockTolerance: SKEW_SECONDS,
    });
    const claims = claimsSchema.safeParse(payload).data;
    const { typ } = protectedHeader;
    if (claims === undefined || !TYPES.includes(typ?.toLowerCase().replace(/^application\//, ''))) return undefined;
    const { sub, sid, iat: issuedAt } = claims;
    if (sub === undefined && sid === undefined) return undefined;
    return { issuedAt, ...(sub !== undefined && { subject: sub }), ...(sid !== undefined && { sid }) };
  } catch (error) {
    if (error instanceof errors.JOSEError && !KEYS_UNREACHABLE.has(error.code)) return undefined;
    throw of.away(error);
  }
}
