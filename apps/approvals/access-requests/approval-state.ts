import { randomUUID } from 'node:crypto';
import { importJWK, SignJWT, type JWK } from 'jose';
import type { AccessRequest } from '../../../workflows/domain/access-request/access-request.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { AccessRequestStore } from '../stores/access-request.store.ts';

/** The signed proof that a PDP can verify by itself. @see ARAP, Completion Semantics (PRJ-05) */
export type ApprovalStateOf = (request: AccessRequest) => Promise<string>;

export interface ApprovalStateOptions {
  /** Private ES256 key. */
  readonly key: JWK;
  /** Our submission URL. */
  readonly issuer: string;
  /** Identifier of the PDP that verifies it. */
  readonly audience: string;
  readonly store: Pick<AccessRequestStore, 'keepApprovalState'>;
}

/** Signs the proof of an approval at the first read and answers the same text at every other, in every process. */
export async function createApprovalState({
  key,
  issuer,
  audience,
  store,
}: ApprovalStateOptions): Promise<ApprovalStateOf> {
  const signingKey = await importJWK(key, 'ES256');
  const { kid } = publicKey(key);
  return async (request) => {
    const { approval } = request;
    if (approval === undefined) throw new Error(`access request ${request.id} is not approved`);
    if (approval.state !== undefined) return approval.state;
    const signed = await new SignJWT({
      approval_id: approval.id,
      task_id: request.id,
      evaluation_id: request.evaluationId,
      ...(request.template !== undefined && { template: request.template }),
      requester: request.clientId,
      scope: 'exact',
      binding_context_members: request.bindingContextMembers,
      binding_hash: request.bindingHash,
    })
      .setProtectedHeader({ alg: 'ES256', kid, typ: 'JWT' })
      .setIssuer(issuer)
      .setAudience(audience)
      .setIssuedAt(new Date(approval.approvedAt))
      .setExpirationTime(new Date(approval.approvedUntil))
      .setJti(randomUUID())
      .sign(signingKey);
    return store.keepApprovalState(request.id, signed);
  };
}

/** The half of an ES256 key that everybody may see. Throws `ERR_CONFIG_INVALID` when it is no such key. */
export function publicKey({ kty, crv, x, y, kid }: JWK) {
  if (kty !== 'EC' || crv !== 'P-256' || !x || !y || !kid) {
    throw new CountersignError(
      'ERR_CONFIG_INVALID',
      'accessRequestSigningKey is not an EC P-256 key with a kid. Make a new one.',
    );
  }
  return { kty, crv, x, y, kid, use: 'sig', alg: 'ES256' };
}
