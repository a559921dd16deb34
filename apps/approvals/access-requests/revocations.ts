import type { SignClaims } from '../../shared/auth/signing-key.ts';
import type { Clock } from '../../shared/clock.ts';
import type { AccessRequestStore } from '../stores/access-request.store.ts';

/** Media type, and `typ` of the token: it has the signer of approvals and must not be taken for one. */
export const REVOCATIONS_TYPE = 'application/revocations+jwt';
const TYP = 'revocations+jwt';
/** How long it may be believed. It is fetched for each re-evaluation, so this only stops an old one that is shown again. */
const VALID_SECONDS = 30;

export interface RevocationListOptions {
  readonly sign: SignClaims;
  /** Our submission URL, the issuer of the approvals that are in the list. */
  readonly issuer: string;
  readonly store: Pick<AccessRequestStore, 'revokedApprovals'>;
  readonly clock: Clock;
}

/**
 * The approvals that were taken back before their time, as they stand at the call, in a token (`revoked`). Their ids are
 * random and open nothing, so whoever asks may have it, and needs no secret of ours: the signature says that it is true.
 * @see ARAP-REV-10 (PRJ-38)
 */
export function createRevocationList({ sign, issuer, store, clock }: RevocationListOptions): () => Promise<string> {
  return async () => {
    // The clock is read first: what is revoked after this instant is in the next list.
    const now = Math.floor(clock.now() / 1_000);
    const revoked = await store.revokedApprovals();
    return sign({ iss: issuer, iat: now, exp: now + VALID_SECONDS, revoked }, TYP);
  };
}
