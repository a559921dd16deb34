import { randomUUID } from 'node:crypto';
import type { AccessRequest } from '../../../workflows/domain/access-request/access-request.ts';
import type { SignClaims } from '../../shared/auth/signing-key.ts';
import type { Clock } from '../../shared/clock.ts';
import type { AccessRequestStore } from '../stores/access-request.store.ts';

/** The signed proof that a PDP can verify by itself. @see ARAP, Completion Semantics (PRJ-05) */
export type ApprovalStateOf = (request: AccessRequest) => Promise<string>;

interface Signing {
  readonly sign: SignClaims;
  /** Our submission URL. */
  readonly issuer: string;
}

interface ApprovalStateOptions extends Signing {
  /** Identifier of the PDP that verifies it. */
  readonly audience: string;
  readonly store: Pick<AccessRequestStore, 'keepApprovalState'>;
}

/** Signs the proof of an approval at the first read. Every later read returns the same text, in every process. */
export function createApprovalState({ sign, issuer, audience, store }: ApprovalStateOptions): ApprovalStateOf {
  return async (request) => {
    const { approval } = request;
    if (approval === undefined) throw new Error(`access request ${request.id} is not approved`);
    if (approval.state !== undefined) return approval.state;
    const signed = await sign({
      iss: issuer,
      aud: audience,
      iat: wholeSeconds(approval.approvedAt),
      exp: wholeSeconds(approval.approvedUntil),
      jti: randomUUID(),
      approval_id: approval.id,
      // A client knows an item by its bundle.
      task_id: request.bundle?.id ?? request.id,
      evaluation_id: request.evaluationId,
      ...(request.template !== undefined && { template: request.template }),
      requester: request.clientId,
      scope: 'exact',
      binding_context_members: request.bindingContextMembers,
      binding_hash: request.bindingHash,
    });
    return store.keepApprovalState(request.id, signed);
  };
}

const wholeSeconds = (instant: string) => Math.floor(Date.parse(instant) / 1_000);

/** Media type and `typ`. The key also signs approvals, so the type keeps a list from passing for an approval. */
export const REVOCATIONS_TYPE = 'application/revocations+jwt';
const TYP = 'revocations+jwt';
/** How long a list is valid. It is fetched for each re-evaluation, so this only stops the replay of an old list. */
const VALID_SECONDS = 30;

interface RevocationListOptions extends Signing {
  readonly store: Pick<AccessRequestStore, 'revokedApprovals'>;
  readonly clock: Clock;
}

/**
 * The currently revoked approvals, in a signed token (`revoked`). The ids are random and grant nothing, so the list is public, and
 * the signature proves it without a shared secret.
 * @see ARAP-REV-10 (PRJ-38)
 */
export function createRevocationList({ sign, issuer, store, clock }: RevocationListOptions): () => Promise<string> {
  return async () => {
    // The clock is read first: an approval that is revoked after this instant is in the next list.
    const now = Math.floor(clock.now() / 1_000);
    const revoked = await store.revokedApprovals();
    return sign({ iss: issuer, iat: now, exp: now + VALID_SECONDS, revoked }, TYP);
  };
}
