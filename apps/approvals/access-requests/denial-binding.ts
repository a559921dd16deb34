import { createHash } from 'node:crypto';
import { decodeJwt, decodeProtectedHeader, errors, jwtVerify, type JWTPayload, type JWTVerifyGetKey } from 'jose';
import * as z from 'zod';
import type { EvaluationRequest } from '../../../workflows/domain/authzen/evaluation.ts';
import { boundParts, isSameJson } from '../../../workflows/domain/authzen/denial-binding.ts';
import { canonicalJson, type Json } from '../../../workflows/domain/canonical-json.ts';
import { callDigest } from '../../../workflows/domain/gated-call/call-binding.ts';
import { KEYS_UNREACHABLE } from '../../shared/auth/service-token.ts';
import { SIGNING_ALGORITHMS } from '../../shared/auth/signing-key.ts';
import { Problem } from './problem.ts';
import { toolOf, type Submission } from './submission.ts';
import { sha256 } from '../../shared/sha256.ts';

/** How far the clocks of PDP and access request service may be apart (PRJ-13). */
const SKEW_MS = 30_000;
const claimsSchema = z.looseObject({
  jti: z.string().min(1),
  exp: z.number(),
  iat: z.number().optional(),
  evaluation_id: z.string().optional(),
  denial_expires_at: z.iso.datetime({ offset: true }).optional(),
  requester: z.string().optional(),
  template: z.string().optional(),
  reason: z.string().optional(),
  policies: z.array(z.string()).default([]),
  display: z.looseObject({ title: z.string().optional(), description: z.string().optional() }).optional(),
  binding_context_members: z.array(z.string()).default([]),
  binding_hash: z.string().optional(),
  subject: z.unknown().optional(),
  resource: z.unknown().optional(),
  action: z.unknown().optional(),
  context: z.unknown().optional(),
});

/** What a genuine denial that covers the submission says. */
export interface VerifiedDenial {
  readonly evaluationId: string;
  readonly tokenId: string;
  readonly requester: string | undefined;
  readonly template: string | undefined;
  readonly reason: string | undefined;
  readonly title: string | undefined;
  readonly description: string | undefined;
  readonly policies: readonly string[];
  readonly bindingHash: string;
  readonly bindingContextMembers: readonly string[];
  /** Digest of what approvers look at: of the call where it is one, else of all that was submitted for evaluation. */
  readonly callDigest: string;
}

export interface DenialTrust {
  /** PDP identifier → its keys. No other issuer is listened to (PRJ-06). */
  readonly issuers: ReadonlyMap<string, JWTVerifyGetKey>;
  /** Our submission URL: a token made for another service is refused. */
  readonly audience: string;
  /**
   * The binding token of a denial that is only named by its evaluation, as the PDP has it on record. Undefined when it
   * has none. Throws a `Problem`.
   */
  readonly recorded: (evaluationId: string) => Promise<string | undefined>;
  readonly now: () => number;
}

/**
 * Verifies that the submission belongs to a genuine, fresh, requestable denial: signature, issuer and audience, then
 * the binding, then freshness, so that a forged denial is never reported as a stale one. Throws a `Problem`.
 * @see ARAP, Binding Token Integrity (PRJ-07, PRJ-09, PRJ-13)
 */
export async function verifyDenial(submission: Submission, trust: DenialTrust): Promise<VerifiedDenial> {
  const { denial } = submission;
  const token = denial.binding_token ?? (await tokenOnRecord(denial.evaluation_id, trust));
  const claims = claimsSchema.safeParse(await verifyToken(token, trust)).data;
  if (claims === undefined) throw invalid('the token says too little');
  if (claims.iat !== undefined && claims.iat * 1_000 > trust.now() + SKEW_MS)
    throw invalid('the token is from the future');
  const evaluationId = claims.evaluation_id ?? denial.evaluation_id;
  if (evaluationId === undefined || (denial.evaluation_id ?? evaluationId) !== evaluationId) {
    throw invalid('denial.evaluation_id is not the one of the token');
  }
  const bindingHash = compareBinding(submission, claims);
  const shown = digestOfWhatIsShown(submission, claims.binding_context_members);
  // What the PDP has on record is what holds; the echo of it came through the enforcement point (ARAP-BND-19).
  checkFreshness(denial.binding_token === undefined ? undefined : denial.expires_at, claims, trust.now());
  return {
    evaluationId,
    tokenId: claims.jti,
    requester: claims.requester,
    // The echo in the denial is nobody's word: it may not choose what an approval is good for (ARAP-SUB-26).
    template: claims.template,
    reason: claims.reason ?? denial.reason,
    title: claims.display?.title,
    description: claims.display?.description,
    policies: claims.policies,
    bindingHash,
    bindingContextMembers: claims.binding_context_members,
    callDigest: shown,
  };
}

async function tokenOnRecord(evaluationId: string | undefined, { recorded }: DenialTrust): Promise<string> {
  if (evaluationId === undefined) throw invalid('denial has neither binding_token nor evaluation_id');
  const token = await recorded(evaluationId);
  if (token === undefined) throw invalid('denial.binding_token is missing, and the evaluation is not on record');
  return token;
}

async function verifyToken(token: string, { issuers, audience, now }: DenialTrust): Promise<JWTPayload> {
  const issuer = issuerOf(token) ?? '';
  const keys = issuers.get(issuer);
  if (keys === undefined) throw invalid('the token is from an issuer that is not trusted here');
  const options = {
    algorithms: [...SIGNING_ALGORITHMS],
    audience,
    issuer,
    clockTolerance: SKEW_MS / 1_000,
    currentDate: new Date(now()),
  };
  try {
    return (await jwtVerify(token, keys, options)).payload;
  } catch (error) {
    // Everything but its age is in order; the age is judged last, after the binding.
    if (error instanceof errors.JWTExpired) return error.payload;
    if (error instanceof errors.JOSEError && !KEYS_UNREACHABLE.has(error.code)) throw invalid('the token is not valid');
    throw new Problem(503, 'the keys of the policy decision point cannot be read');
  }
}

/** Whose token it says it is. Without the name of a key it is nobody's: a set of one key would stand for any (ARAP-BND-01). */
function issuerOf(token: string): string | undefined {
  try {
    return decodeProtectedHeader(token).kid === undefined ? undefined : decodeJwt(token).iss;
  } catch {
    return undefined;
  }
}

/** Hash and inline copies both have to hold where they occur, and one of them must (PRJ-04). Answers the hash. */
function compareBinding(submission: Submission, claims: z.infer<typeof claimsSchema>): string {
  const parts = boundParts(submission as unknown as EvaluationRequest, claims.binding_context_members);
  const hash = createHash('sha256').update(canonicalJson(parts)).digest('base64url');
  const inline = (['subject', 'resource', 'action', 'context'] as const).filter((part) => claims[part] !== undefined);
  if (claims.binding_hash === undefined && inline.length < 4) throw invalid('the token binds nothing');
  const holds =
    (claims.binding_hash ?? hash) === hash &&
    inline.every((part) => isSameJson(claims[part] as Json, parts[part] ?? null));
  if (!holds) throw invalid('subject, resource, action or context is not what was denied');
  return hash;
}

/**
 * Approvers see the bytes that will run: arguments count only when the denial binds them, themselves or by the digest
 * of the call (PRJ-17). Answers what an approver's decision names.
 */
function digestOfWhatIsShown(submission: Submission, members: readonly string[]): string {
  const { subject, action, resource, context } = submission;
  const { arguments: args, call_digest: digest } = context;
  if (args === undefined) {
    return `sha-256:${sha256(canonicalJson({ subject, action, resource, context } as Json))}`;
  }
  if (!members.includes(digest === undefined ? 'arguments' : 'call_digest')) {
    throw invalid('the denial does not bind the arguments');
  }
  const actual = callDigest({ tool: toolOf(submission), arguments: args as Record<string, Json> }, sha256);
  if ((digest ?? actual) !== actual) throw invalid('context.call_digest is not the digest of tool and arguments');
  return actual;
}

/** The earliest of all deadlines holds; an echoed one has to be the one that was signed (ARAP-BND-15 to 17). */
function checkFreshness(echoed: string | undefined, claims: z.infer<typeof claimsSchema>, now: number): void {
  const exp = claims.exp * 1_000;
  const signed = claims.denial_expires_at === undefined ? undefined : Date.parse(claims.denial_expires_at);
  const echo = echoed === undefined ? (signed ?? exp) : Date.parse(echoed);
  if (signed === undefined ? exp > echo : signed !== echo) {
    throw invalid('denial.expires_at is not the one of the denial');
  }
  if (Math.min(echo, exp) + SKEW_MS <= now) throw new Problem('expired_denial', 'evaluate again for a fresh denial');
}

const invalid = (detail: string) => new Problem('invalid_denial_binding', detail);
