import { jwtVerify, type JWTVerifyGetKey } from 'jose';
import { request } from 'undici';
import * as z from 'zod';
import { SIGNING_ALGORITHMS } from '../shared/auth/signing-key.ts';

const TIMEOUT_MS = 2_000;
/** No older list is believed, however it got here. */
const MAX_AGE_SECONDS = 30;
const SKEW_SECONDS = 30;
const TYP = 'revocations+jwt';

const listSchema = z.looseObject({ revoked: z.array(z.string()) });

/** Ids of approvals that were taken back before their time. Throws when that cannot be known. */
export type RevokedApprovals = () => Promise<ReadonlySet<string>>;

/**
 * Reads the signed list of the access request service, anew for each re-evaluation: what is revoked counts from the next
 * one on, wherever the two services run.
 * @see ARAP-REV-10 (PRJ-38)
 */
export function createRevokedApprovals(of: { url: string; issuer: string; keys: JWTVerifyGetKey }): RevokedApprovals {
  return async () => {
    const answer = await request(of.url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    const token = await answer.body.text();
    if (answer.statusCode !== 200) throw new Error(`the list of revocations was answered ${answer.statusCode}`);
    const { payload } = await jwtVerify(token, of.keys, {
      issuer: of.issuer,
      typ: TYP,
      algorithms: [...SIGNING_ALGORITHMS],
      maxTokenAge: MAX_AGE_SECONDS,
      clockTolerance: SKEW_SECONDS,
    });
    return new Set(listSchema.parse(payload).revoked);
  };
}
