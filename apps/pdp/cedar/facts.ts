import { decodeJwt, decodeProtectedHeader, errors, jwtVerify, type JWTVerifyGetKey } from 'jose';
import * as z from 'zod';
import type { Clock } from '../../shared/clock.ts';
import { KEYS_UNREACHABLE } from '../../shared/auth/service-token.ts';
import { SIGNING_ALGORITHMS } from '../../shared/auth/signing-key.ts';
import { bindingHash, isBindable, type BoundRequest } from '../binding-token.ts';
import type { RevokedApprovals } from '../revocations.ts';
import type { ApprovalFacts } from './engine.ts';

/** What an approval that came with a request is worth. Everything but `verified` counts as no approval (ARAP-REV-07). */
export type ApprovalVerdict =
  | { readonly kind: 'verified'; readonly id: string; readonly approvedUntil: string; readonly facts: ApprovalFacts }
  /** Its time has passed, or it was taken back before. */
  | { readonly kind: 'expired' }
  /** Genuine, but for another request, another requester or a scope we do not know. */
  | { readonly kind: 'out_of_scope' }
  | { readonly kind: 'unverifiable' }
  /** The signer's keys, or what it has revoked, cannot be had at the moment: nothing can be said yet. */
  | { readonly kind: 'undecided' };

/** Verification keys by issuer. What is not in here is not trusted, whatever a token's header says (PRJ-06). */
export type TrustedIssuers = ReadonlyMap<string, JWTVerifyGetKey>;

export interface Presented {
  /** The value of `context.approval`. */
  readonly approval: unknown;
  /** The request it came with, without it. */
  readonly request: BoundRequest;
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

/** How far ahead the signer's clock may be. An approval's own end is kept to the second (ARAP-CLK-04). */
const SKEW_SECONDS = 30;

export interface ApprovalTrust {
  readonly issuers: TrustedIssuers;
  /** The PDP's identifier: an approval made out to another PDP is worth nothing here. */
  readonly audience: string;
  /** Ids of approvals that were taken back. */
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
    // Last, so that nobody makes us ask by showing what would not be permitted anyway.
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
  { readonly claims: unknown; readonly expired: boolean } | { readonly kind: 'unverifiable' | 'undecided' };

async function checkSignature(state: string, of: ApprovalTrust): Promise<Checked> {
  const now = of.clock.now();
  const issuer = claimedIssuer(state);
  const keys = issuer === undefined ? undefined : of.issuers.get(issuer);
  if (issuer === undefined || !keys) return { kind: 'unverifiable' };
  try {
    const { payload } = await jwtVerify(state, keys, {
      issuer,
      audience: of.audience,
      algorithms: [...SIGNING_ALGORITHMS],
      currentDate: new Date(now),
      clockTolerance: SKEW_SECONDS,
    });
    const isFromTheFuture = (payload.iat ?? 0) * 1_000 > now + SKEW_SECONDS * 1_000;
    if (isFromTheFuture) return { kind: 'unverifiable' };
    return { claims: payload, expired: (payload.exp ?? 0) * 1_000 <= now };
  } catch (error) {
    // jose reports expiry last, so signature, issuer and audience have held by then.
    if (error instanceof errors.JWTExpired && error.claim === 'exp') return { claims: error.payload, expired: true };
    if (!(error instanceof errors.JOSEError) || KEYS_UNREACHABLE.has(error.code)) return { kind: 'undecided' };
    return { kind: 'unverifiable' };
  }
}

/** Only says where to look for keys; whether it is true comes out when the signature is checked. One that names no key has none. */
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
  // A member that was not there when the denial was made, and that policies can see, would ride in unapproved.
  const rides = Object.keys(request.context).some(
    (name) => isBindable(name) && visible.has(name) && !members.has(name),
  );
  if (rides) return false;
  try {
    return bindingHash(request, claims.binding_context_members) === claims.binding_hash;
  } catch {
    return false;
  }
}
