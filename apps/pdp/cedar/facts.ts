import { decodeJwt, errors, jwtVerify, type JWTVerifyGetKey } from 'jose';
import * as z from 'zod';
import { bindingHash, isBindable, type BoundRequest } from '../binding-token.ts';
import type { ApprovalFacts } from './engine.ts';

/** What an approval that came with a request is worth. Everything but `verified` counts as no approval (ARAP-REV-07). */
export type ApprovalVerdict =
  | { readonly kind: 'verified'; readonly id: string; readonly approvedUntil: string; readonly facts: ApprovalFacts }
  | { readonly kind: 'expired' }
  /** Genuine, but for another request, another requester or a scope we do not know. */
  | { readonly kind: 'out_of_scope' }
  | { readonly kind: 'unverifiable' }
  /** The signer's keys cannot be had at the moment: nothing can be said yet. */
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

const KEYS_UNAVAILABLE = new Set(['ERR_JWKS_TIMEOUT', 'ERR_JWKS_INVALID', 'ERR_JOSE_GENERIC']);

/** @param audience The PDP's identifier: an approval made out to another PDP is worth nothing here. */
export function createApprovalVerifier(of: { issuers: TrustedIssuers; audience: string }): VerifyApproval {
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

async function checkSignature(state: string, of: { issuers: TrustedIssuers; audience: string }): Promise<Checked> {
  const issuer = claimedIssuer(state);
  const keys = issuer === undefined ? undefined : of.issuers.get(issuer);
  if (issuer === undefined || !keys) return { kind: 'unverifiable' };
  try {
    const { payload } = await jwtVerify(state, keys, {
      issuer,
      audience: of.audience,
      algorithms: ['ES256'],
    });
    return { claims: payload, expired: false };
  } catch (error) {
    // jose reports expiry last, so signature, issuer and audience have held by then.
    if (error instanceof errors.JWTExpired && error.claim === 'exp') return { claims: error.payload, expired: true };
    if (!(error instanceof errors.JOSEError) || KEYS_UNAVAILABLE.has(error.code)) return { kind: 'undecided' };
    return { kind: 'unverifiable' };
  }
}

/** Only says where to look for keys; whether it is true comes out when the signature is checked. */
function claimedIssuer(state: string): string | undefined {
  try {
    return decodeJwt(state).iss;
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
