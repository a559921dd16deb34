import { jwtVerify, type JWTVerifyGetKey } from 'jose';
import { request } from 'undici';
import * as z from 'zod';
import { SIGNING_ALGORITHMS } from '../shared/auth/signing-key.ts';
import type { Timing } from '../shared/limits.ts';

/** No older list is believed, however it got here. */
const MAX_AGE_SECONDS = 30;
const SKEW_SECONDS = 30;
const TYP = 'revocations+jwt';

const listSchema = z.looseObject({ revoked: z.array(z.string()) });

interface RevokedOptions extends Timing {
  /** Where the list is. */
  readonly url: string;
  readonly issuer: string;
  readonly keys: JWTVerifyGetKey;
}

/** Ids of approvals that were taken back before their time. Throws when that cannot be known. */
export type RevokedApprovals = () => Promise<ReadonlySet<string>>;

/**
 * Reads the signed list of the access request service, anew for each re-evaluation: what is revoked counts from the next
 * one on, wherever the two services run.
 * @see ARAP-REV-10 (PRJ-38)
 */
export function createRevokedApprovals(of: RevokedOptions): RevokedApprovals {
  const { clock, limits } = of;
  return async () => {
    const answer = await request(of.url, { signal: clock.signalAfter(limits.revocationsMs) });
    const token = await answer.body.text();
    if (answer.statusCode !== 200) throw new Error(`the list of revocations was answered ${answer.statusCode}`);
    const { payload } = await jwtVerify(token, of.keys, {
      issuer: of.issuer,
      typ: TYP,
      algorithms: [...SIGNING_ALGORITHMS],
      maxTokenAge: MAX_AGE_SECONDS,
      clockTolerance: SKEW_SECONDS,
      currentDate: new Date(clock.now()),
    });
    return new Set(listSchema.parse(payload).revoked);
  };
}
