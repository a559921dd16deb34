import { decodeJwt, decodeProtectedHeader, errors, jwtVerify, type JWTVerifyGetKey } from 'jose';
import { request as httpRequest } from 'undici';
import * as z from 'zod';
import type { EvaluationRequest } from '../../../workflows/domain/authzen/evaluation.ts';
import { checkedBy, KEYS_UNREACHABLE, SKEW_SECONDS } from '../../shared/auth/signing-key.ts';
import type { Clock } from '../../shared/clock.ts';
import type { Timing } from '../../shared/limits.ts';
import type { VerifiedApproval } from '../engine/policy-engine.ts';
import { bindingHash, isBindable } from '../offer/binding-token.ts';

/** What an approval that came with a request is worth. Every kind but `verified` counts as no approval (ARAP-REV-07). */
export type ApprovalVerdict =
  | VerifiedApproval
  /** It has ended or was revoked. */
  | { readonly kind: 'expired' }
  /** Genuine, but for another request, another requester or an unknown scope. */
  | { readonly kind: 'out_of_scope' }
  | { readonly kind: 'unverifiable' }
  /** The signer's keys, or its revocations, cannot be fetched now. */
  | { readonly kind: 'undecided' };

interface Presented {
  /** The value of `context.approval`. */
  readonly approval: unknown;
  /** The request it came with, without it. */
  readonly request: EvaluationRequest;
  /** The enforcement point that presents it, as the PDP authenticated it. */
  readonly requester: string;
  /** Context members that policies may look at for this action. */
  readonly visible: Pick<ReadonlySet<string>, 'has'>;
}

export type VerifyApproval = (presented: Presented) => Promise<ApprovalVerdict>;

const approvalSchema = z.looseObject({ id: z.string().min(1), state: z.string() });
const claimsSchema = z.looseObject({
  exp: z.number(),
  approval_id: z.string(),
  template: z.string().min(1),
  requester: z.string(),
  scope: z.string(),
  binding_context_members: z.array(z.string()),
  binding_hash: z.string(),
});
type Claims = z.infer<typeof claimsSchema>;

export interface ApprovalTrust {
  /** The access request service and its keys. A token's header cannot add another issuer (PRJ-06). */
  readonly issuer: string;
  readonly keys: JWTVerifyGetKey;
  /** The PDP's identifier. An approval for another PDP is worth nothing here. */
  readonly audience: string;
  /** Ids of revoked approvals. */
  readonly revoked: RevokedApprovals;
  readonly clock: Clock;
}

export function createApprovalVerifier(of: ApprovalTrust): VerifyApproval {
  return async (presented) => {
    const approval = approvalSchema.safeParse(presented.approval);
    if (!approval.success) return { kind: 'unverifiable' };
    const checked = await checkSignature(approval.data.state, of);
    if ('kind' in checked) return checked;
    const claims = claimsSchema.safeParse(checked.claims);
    // The id names the state: one approval's id beside another's state is a substitution (ARAP-REV-06).
    if (!claims.success || claims.data.approval_id !== approval.data.id) return { kind: 'unverifiable' };
    if (checked.expired) return { kind: 'expired' };
    if (!isApplicable(claims.data, presented)) return { kind: 'out_of_scope' };
    // Last, so that a caller cannot cause the look-up with an approval that does not count anyway.
    const revoked = await of.revoked().catch(() => undefined);
    if (revoked === undefined) return { kind: 'undecided' };
    if (revoked.has(approval.data.id)) return { kind: 'expired' };
    return {
      kind: 'verified',
      id: approval.data.id,
      approvedUntil: new Date(claims.data.exp * 1_000).toISOString(),
      facts: { verified: true, template: claims.data.template },
    };
  };
}

type Checked =
  | { readonly claims: unknown; readonly expired: boolean }
  | { readonly kind: 'unverifiable' | 'undecided' };

async function checkSignature(state: string, of: ApprovalTrust): Promise<Checked> {
  if (claimedIssuer(state) !== of.issuer) return { kind: 'unverifiable' };
  try {
    const { issuer, audience, keys, clock } = of;
    const { payload } = await jwtVerify(state, keys, checkedBy(clock, { issuer, audience }));
    const now = clock.now();
    // The signer's clock may be ahead. An approval's own end is kept to the second (ARAP-CLK-04).
    const isFromTheFuture = (payload.iat ?? 0) * 1_000 > now + SKEW_SECONDS * 1_000;
    if (isFromTheFuture) return { kind: 'unverifiable' };
    return { claims: payload, expired: (payload.exp ?? 0) * 1_000 <= now };
  } catch (error) {
    // jose checks expiry last, so signature, issuer and audience are right by then.
    if (error instanceof errors.JWTExpired && error.claim === 'exp') return { claims: error.payload, expired: true };
    if (!(error instanceof errors.JOSEError) || KEYS_UNREACHABLE.has(error.code)) return { kind: 'undecided' };
    return { kind: 'unverifiable' };
  }
}

/** Says whether the keys are worth a look. The signature check shows whether it is true. A state that names no key has no issuer. */
function claimedIssuer(state: string): string | undefined {
  try {
    return decodeProtectedHeader(state).kid === undefined ? undefined : decodeJwt(state).iss;
  } catch {
    return undefined;
  }
}

/** Whether the approval was given for exactly this request of exactly this requester. */
function isApplicable(claims: Claims, { request, requester, visible }: Presented): boolean {
  if (claims.scope !== 'exact' || claims.requester !== requester) return false;
  const members = new Set(claims.binding_context_members);
  // A member that the denial did not have, and that policies can see, was never approved.
  const addsMember = Object.keys(request.context).some(
    (name) => isBindable(name) && visible.has(name) && !members.has(name),
  );
  if (addsMember) return false;
  try {
    return bindingHash(request, claims.binding_context_members) === claims.binding_hash;
  } catch {
    return false;
  }
}

/** The PDP believes no older list, however it arrived. */
const MAX_LIST_AGE_SECONDS = 30;

const revocationsSchema = z.looseObject({ revoked: z.array(z.string()) });

/** Ids of approvals that were revoked before they ended. Throws if that cannot be known. */
type RevokedApprovals = () => Promise<ReadonlySet<string>>;

/**
 * Fetches the signed list of the access request service, anew for each re-evaluation. So a revocation counts from the next
 * re-evaluation on, wherever the two services run.
 * @see ARAP-REV-10 (PRJ-38)
 *
 * @param of.url Address of the list.
 */
export function createRevokedApprovals(
  of: Timing & Pick<ApprovalTrust, 'issuer' | 'keys'> & { readonly url: string },
): RevokedApprovals {
  const { clock, limits } = of;
  return async () => {
    const response = await httpRequest(of.url, { signal: clock.signalAfter(limits.revocationsMs) });
    const token = await response.body.text();
    if (response.statusCode !== 200) throw new Error(`the list of revocations has status ${response.statusCode}`);
    const expected = { issuer: of.issuer, typ: 'revocations+jwt', maxTokenAge: MAX_LIST_AGE_SECONDS };
    const { payload } = await jwtVerify(token, of.keys, checkedBy(clock, expected));
    return new Set(revocationsSchema.parse(payload).revoked);
  };
}
