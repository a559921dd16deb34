import { randomUUID } from 'node:crypto';
import type { AccessRequest } from '../../../workflows/domain/access-request/access-request.ts';
import type { SignClaims } from '../../shared/auth/signing-key.ts';
import type { AccessRequestStore } from '../stores/access-request.store.ts';

/** The signed proof that a PDP can verify by itself. @see ARAP, Completion Semantics (PRJ-05) */
export type ApprovalStateOf = (request: AccessRequest) => Promise<string>;

export interface ApprovalStateOptions {
  readonly sign: SignClaims;
  /** Our submission URL. */
  readonly issuer: string;
  /** Identifier of the PDP that verifies it. */
  readonly audience: string;
  readonly store: Pick<AccessRequestStore, 'keepApprovalState'>;
}

/** Signs the proof of an approval at the first read and answers the same text at every other, in every process. */
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
      // The task that the client knows.
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
