import { createHash, randomUUID } from 'node:crypto';
import type { JWK } from 'jose';
import type { EvaluationRequest } from '../../../workflows/domain/authzen/evaluation.ts';
import { boundParts, NEVER_BOUND } from '../../../workflows/domain/authzen/denial-binding.ts';
import { canonicalJson, type JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { createSigner } from '../../shared/auth/signing-key.ts';
import type { Requestable } from '../engine/policy-engine.ts';

/**
 * Context members that never bind: those that a PDP writes itself (ARAP, Authorization-Relevant Context), and those that differ
 * each time, so that no request would match the denial again (ARAP-GEN-11).
 */
const UNBOUND: ReadonlySet<string> = new Set([...NEVER_BOUND, 'time', 'nonce', 'request_id']);

/** The token has no larger inline copies, so that it fits into a header or a log. The hash binds alone. */
const MAX_INLINE_CHARS = 32_768;

export function isBindable(member: string): boolean {
  return !UNBOUND.has(member);
}

/** Every context member that a denial of this request binds, sorted. */
export function bindingMembers(request: EvaluationRequest): string[] {
  return Object.keys(request.context).filter(isBindable).sort();
}

/**
 * base64url SHA-256 over the RFC 8785 text of what is bound. Throws a `RangeError` for values that have no such text.
 * @see ARAP, Binding Token Integrity
 */
export function bindingHash(request: EvaluationRequest, members: readonly string[]): string {
  return hash(canonicalJson(boundParts(request, members)));
}

const hash = (text: string) => createHash('sha256').update(text).digest('base64url');

/** A requestable denial, as it is signed and recorded. */
export interface BoundDenial {
  readonly evaluationId: string;
  readonly tokenId: string;
  /** The enforcement point that sent the request, as the PDP authenticated it. */
  readonly requester: string;
  /** Without `context.approval`. What it binds is taken from it exactly as it arrived, unknown members included. */
  readonly request: EvaluationRequest;
  readonly members: readonly string[];
  readonly bindingHash: string;
  readonly inline: JsonObject | undefined;
  readonly offer: Requestable;
  /** Those templates of the offer that the configuration listed. An access request service that does not list one opens no request. */
  readonly listedTemplates: readonly string[];
  /** Id of the policies that made it. */
  readonly policyVersion: string;
  readonly evaluatedAt: Date;
  /** Whole seconds, so that the token's `exp` is the same instant. */
  readonly expiresAt: Date;
}

/** The part that is signed. It has the request by its hash, and by inline copies if there are any. */
export type SignedDenial = Omit<BoundDenial, 'request' | 'policyVersion'>;

/**
 * Fixes what a denial binds and until when it can be used. `now`: milliseconds since 1970. Throws a `RangeError` if the request
 * has no canonical form.
 */
export function bindDenial(
  denial: Pick<BoundDenial, 'request' | 'requester' | 'offer' | 'listedTemplates' | 'policyVersion'>,
  { ttlSeconds, now }: { readonly ttlSeconds: number; readonly now: number },
): BoundDenial {
  const members = bindingMembers(denial.request);
  const bound = boundParts(denial.request, members);
  const text = canonicalJson(bound);
  const evaluatedAt = new Date(now);
  return {
    ...denial,
    evaluationId: `eval_${randomUUID()}`,
    tokenId: randomUUID(),
    members,
    bindingHash: hash(text),
    inline: text.length <= MAX_INLINE_CHARS ? bound : undefined,
    evaluatedAt,
    expiresAt: new Date((Math.floor(evaluatedAt.getTime() / 1_000) + ttlSeconds) * 1_000),
  };
}

/** Signs binding tokens. `issuer` is the PDP's identifier, `audience` the submission URL (PRJ-03). */
export type SignBindingToken = (denial: SignedDenial) => Promise<string>;

/** Takes a private key. Throws `ERR_CONFIG_INVALID` if it is no signing key. */
export async function createBindingTokenSigner(of: {
  key: JWK;
  issuer: string;
  audience: string;
}): Promise<SignBindingToken> {
  const sign = await createSigner(of.key);
  return async (denial) =>
    await sign({
      evaluation_id: denial.evaluationId,
      denial_expires_at: denial.expiresAt.toISOString(),
      requester: denial.requester,
      // The enforcement point could change the copy of these in the denial. It cannot change this one.
      template: denial.offer.template,
      listed_templates: denial.listedTemplates,
      reason: denial.offer.reason,
      policies: denial.offer.policies,
      grantable: denial.offer.grantable,
      ...displayOf(denial.offer),
      binding_context_members: denial.members,
      binding_hash: denial.bindingHash,
      ...denial.inline,
      iss: of.issuer,
      aud: of.audience,
      iat: Math.floor(denial.evaluatedAt.getTime() / 1_000),
      exp: denial.expiresAt.getTime() / 1_000,
      jti: denial.tokenId,
    });
}

/** The texts for approvers, if the policies have any. */
export function displayOf({ title, description }: Requestable): { readonly display?: object } {
  const display = { ...(title && { title }), ...(description && { description }) };
  return Object.keys(display).length > 0 ? { display } : {};
}
