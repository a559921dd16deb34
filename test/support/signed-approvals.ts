import { randomUUID } from 'node:crypto';
import { SignJWT, type JWK } from 'jose';
import { bindingHash, bindingMembers } from '../../apps/pdp/offer/binding-token.ts';
import type { EvaluationRequest } from '../../workflows/domain/authzen/evaluation.ts';
import { ACCESS_REQUESTS, PDP_URL, REQUESTER } from './pdp.ts';

/** An approval as the access request service would sign it for this request; `claims` replace the usual ones. */
export async function anApprovalFor(
  request: EvaluationRequest,
  of: { key: JWK; claims?: Record<string, unknown>; header?: Record<string, unknown>; expiresInSeconds?: number },
) {
  const id = `apr_${randomUUID()}`;
  const members = bindingMembers(request);
  const now = Math.floor(Date.now() / 1_000);
  const exp = now + (of.expiresInSeconds ?? 3_600);
  const claims = {
    iss: ACCESS_REQUESTS,
    aud: PDP_URL,
    iat: now,
    exp,
    jti: randomUUID(),
    approval_id: id,
    task_id: 'arq_1',
    evaluation_id: 'eval_1',
    template: 'treasury_approval',
    requester: REQUESTER,
    scope: 'exact',
    binding_context_members: members,
    binding_hash: bindingHash(request, members),
    ...of.claims,
  };
  const state = await new SignJWT(claims)
    .setProtectedHeader({ alg: 'ES256', kid: of.key.kid ?? '', ...of.header })
    .sign(of.key);
  return {
    id,
    approved_at: new Date(now * 1_000).toISOString(),
    approved_until: new Date(exp * 1_000).toISOString(),
    state,
  };
}

/** The same request again, with an approval. */
export function presenting(request: EvaluationRequest, approval: unknown): EvaluationRequest {
  return { ...request, context: { ...request.context, approval } as EvaluationRequest['context'] };
}

/** The list of revocations as the access request service signs it; `claims` and `typ` replace the usual ones. */
export async function aRevocationList(of: {
  key: JWK;
  issuer: string;
  revoked: readonly string[];
  claims?: Record<string, unknown>;
  typ?: string;
}): Promise<string> {
  const now = Math.floor(Date.now() / 1_000);
  return new SignJWT({ iss: of.issuer, iat: now, exp: now + 30, revoked: of.revoked, ...of.claims })
    .setProtectedHeader({ alg: 'ES256', typ: of.typ ?? 'revocations+jwt', kid: of.key.kid ?? '' })
    .sign(of.key);
}
