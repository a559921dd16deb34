import { createHash, randomUUID } from 'node:crypto';
import type { JWK } from 'jose';
import type { EvaluationRequest } from '../../workflows/domain/authzen/evaluation.ts';
import { boundParts } from '../../workflows/domain/authzen/denial-binding.ts';
import { canonicalJson, type JsonObject } from '../../workflows/domain/canonical-json.ts';
import { createSigner } from '../shared/auth/signing-key.ts';
import type { Requestable } from './cedar/requestable.ts';

/** A request without `context.approval`. What is bound is taken from it exactly as it arrived, unknown members too. */
export type BoundRequest = EvaluationRequest;

/**
 * Context members that never bind: what a PDP answers rather than is asked (ARAP, Authorization-Relevant Context), and
 * what differs each time it is sent, so that a denial could never be matched again (ARAP-GEN-11).
 */
const UNBOUND: ReadonlySet<string> = new Set([
  'approval',
  'access_request',
  'evaluation_id',
  'evaluated_at',
  'reason',
  'time',
  'nonce',
  'request_id',
]);

/** Inline copies larger than this are left out: the hash binds alone, and the token stays fit for a header or a log. */
const MAX_INLINE_CHARS = 32_768;

export function isBindable(member: string): boolean {
  return !UNBOUND.has(member);
}

/** Every context member that a denial of this request binds, sorted. */
export function bindingMembers(request: BoundRequest): string[] {
  return Object.keys(request.context).filter(isBindable).sort();
}

/**
 * base64url SHA-256 over the RFC 8785 text of what is bound. Throws a `RangeError` for values that have no such text.
 * @see ARAP, Binding Token Integrity
 */
export function bindingHash(request: BoundRequest, members: readonly string[]): string {
  return hash(canonicalJson(boundParts(request, members)));
}

const hash = (text: string) => createHash('sha256').update(text).digest('base64url');

/** A requestable denial in the form that is both signed and recorded. */
export interface BoundDenial {
  readonly evaluationId: string;
  readonly tokenId: string;
  /** The enforcement point that asked, as the PDP authenticated it. */
  readonly requester: string;
  readonly request: BoundRequest;
  readonly members: readonly string[];
  readonly bindingHash: string;
  readonly inline: JsonObject | undefined;
  readonly offer: Requestable;
  /** Id of the policies that made it. */
  readonly policyVersion: string;
  readonly evaluatedAt: Date;
  /** Whole seconds, so that the token's `exp` is the same instant. */
  readonly expiresAt: Date;
}

/** What of it is signed: the request is there by its hash, and by the inline copies where there are any. */
export type SignedDenial = Omit<BoundDenial, 'request' | 'policyVersion'>;

/** Fixes what a denial binds and how long it can be answered. `now`: milliseconds since 1970. Throws a `RangeError` when the request has no canonical form. */
export function bindDenial(
  denial: Pick<BoundDenial, 'request' | 'requester' | 'offer' | 'policyVersion'>,
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

/** Takes a private key. Throws `ERR_CONFIG_INVALID` when it can sign nothing here. */
export async function createBindingTokenSigner(of: {
  key: JWK;
  issuer: string;
  audience: string;
}): Promise<SignBindingToken> {
  const sign = await createSigner(of.key);
  return async (denial) =>
    await sign({
      ...claimsOf(denial),
      iss: of.issuer,
      aud: of.audience,
      iat: Math.floor(denial.evaluatedAt.getTime() / 1_000),
      exp: denial.expiresAt.getTime() / 1_000,
      jti: denial.tokenId,
    });
}

function claimsOf(denial: SignedDenial): Record<string, unknown> {
  const { template, reason, title, description, policies } = denial.offer;
  const display = { ...(title && { title }), ...(description && { description }) };
  return {
    evaluation_id: denial.evaluationId,
    denial_expires_at: denial.expiresAt.toISOString(),
    requester: denial.requester,
    // The copy of these in the denial goes through the enforcement point; this one cannot be changed on the way.
    template,
    reason,
    policies,
    ...(Object.keys(display).length > 0 && { display }),
    binding_context_members: denial.members,
    binding_hash: denial.bindingHash,
    ...denial.inline,
  };
}
