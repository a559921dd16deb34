import { createHash } from 'node:crypto';
import { decodeJwt, decodeProtectedHeader, errors, jwtVerify, type JWTPayload, type JWTVerifyGetKey } from 'jose';
import * as z from 'zod';
import type { EvaluationRequest } from '../../../workflows/domain/authzen/evaluation.ts';
import { boundBundle, boundParts, isSameJson } from '../../../workflows/domain/authzen/denial-binding.ts';
import { canonicalJson, type Json, type JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { callDigest } from '../../../workflows/domain/gated-call/call-binding.ts';
import { KEYS_UNREACHABLE } from '../../shared/auth/service-token.ts';
import { SIGNING_ALGORITHMS } from '../../shared/auth/signing-key.ts';
import { Problem } from './problem.ts';
import { toolOf, type ShapedSubmission, type Submission } from './submission.ts';
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
  items: z.unknown().optional(),
  context: z.unknown().optional(),
});
type Claims = z.infer<typeof claimsSchema>;

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

/** A thing that was submitted, alone or in a bundle, with the denial that it was really given. */
export interface DeniedItem {
  readonly submission: Submission;
  readonly denial: VerifiedDenial;
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

/** A denial, and what was submitted with it: one thing, or the items of a bundle that it is about. */
interface Proof {
  readonly denial: Submission['denial'];
  readonly items: readonly [Submission, ...Submission[]];
}

/**
 * Verifies that what was submitted belongs to genuine, fresh, requestable denials: signature, issuer and audience, then
 * the binding, then freshness, of all of them in turn, so that a forged denial is never reported as a stale one. A denial of a bundle
 * has to be about all items, no others, in their order. Answers each item with its own denial; the binding hash is of that item alone,
 * and so is an approval that is made from it (ARAP-SCP-06). Throws a `Problem`.
 * @see ARAP, Binding Token Integrity (PRJ-07, PRJ-09, PRJ-13)
 */
export async function verifyDenials(
  { items, bundle }: Pick<ShapedSubmission, 'items' | 'bundle'>,
  trust: DenialTrust,
): Promise<DeniedItem[]> {
  const proofs = bundle?.hasOneDenial === true ? [proofOf(items)] : items.map((item) => proofOf([item]));
  const genuine: { proof: Proof; claims: Claims; evaluationId: string }[] = [];
  for (const proof of proofs) genuine.push({ proof, ...(await verifySigned(proof.denial, trust)) });
  const denied = genuine.flatMap(({ proof, ...signed }) => {
    compareBinding(proof, signed.claims);
    return proof.items.map((submission) => ({ submission, denial: denialOf(submission, signed) }));
  });
  for (const { proof, claims } of genuine) checkFreshness(proof.denial, claims, trust.now());
  return denied;
}

function proofOf([first, ...rest]: readonly Submission[]): Proof {
  if (first === undefined) throw new Error('a submission without items has the right shape');
  return { denial: first.denial, items: [first, ...rest] };
}

/** What the denial says, by the word of the PDP, and the evaluation that it came from. Its age is judged later. */
async function verifySigned(denial: Submission['denial'], trust: DenialTrust) {
  const token = denial.binding_token ?? (await tokenOnRecord(denial.evaluation_id, trust));
  const claims = claimsSchema.safeParse(await verifyToken(token, trust)).data;
  if (claims === undefined) throw invalid('the token says too little');
  if (claims.iat !== undefined && claims.iat * 1_000 > trust.now() + SKEW_MS)
    throw invalid('the token is from the future');
  const evaluationId = claims.evaluation_id ?? denial.evaluation_id;
  if (evaluationId === undefined || (denial.evaluation_id ?? evaluationId) !== evaluationId) {
    throw invalid('denial.evaluation_id is not the one of the token');
  }
  return { claims, evaluationId };
}

function denialOf(
  submission: Submission,
  { claims, evaluationId }: { claims: Claims; evaluationId: string },
): VerifiedDenial {
  const members = claims.binding_context_members;
  return {
    evaluationId,
    tokenId: claims.jti,
    requester: claims.requester,
    // The echo in the denial is nobody's word: it may not choose what an approval is good for (ARAP-SUB-26).
    template: claims.template,
    reason: claims.reason ?? submission.denial.reason,
    title: claims.display?.title,
    description: claims.display?.description,
    policies: claims.policies,
    bindingHash: hashOf(boundParts(asQuestion(submission), members)),
    bindingContextMembers: members,
    callDigest: digestOfWhatIsShown(submission, members),
  };
}

const questionSchema = z.looseObject({
  subject: z.looseObject({ type: z.string(), id: z.string() }),
  action: z.looseObject({ name: z.string() }),
  resource: z.looseObject({ type: z.string(), id: z.string() }),
});

/**
 * What was asked and denied in this evaluation, as the PDP has it on record, and whom the denial was given to: what somebody may see
 * who could submit a request for it, and does not yet. Throws a `Problem`, as for a submission.
 */
export async function recallDenial(evaluationId: string, trust: DenialTrust) {
  const payload = await verifyToken(await tokenOnRecord(evaluationId, trust), trust);
  const claims = claimsSchema.safeParse(payload).data;
  const question = questionSchema.safeParse(payload).data;
  if (claims === undefined || question === undefined) throw invalid('the token does not say who asked for what');
  if (claims.evaluation_id !== evaluationId) throw invalid('what is on record is of another evaluation');
  checkFreshness(undefined, claims, trust.now());
  const { subject, action, resource } = question as Pick<EvaluationRequest, 'subject' | 'action' | 'resource'>;
  return { subject, action, resource, template: claims.template, requester: claims.requester };
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

const asQuestion = (submission: Submission) => submission as unknown as EvaluationRequest;
const hashOf = (parts: JsonObject) => createHash('sha256').update(canonicalJson(parts)).digest('base64url');

/**
 * Hash and inline copies both have to hold where they occur, and one of them must (PRJ-04). A token about several things
 * names them in `items`, and is about no single one.
 */
function compareBinding({ items }: Proof, claims: Claims): void {
  const [first, ...others] = items;
  const members = claims.binding_context_members;
  const isAlone = others.length === 0;
  const parts = isAlone ? boundParts(asQuestion(first), members) : boundBundle(items.map(asQuestion), members);
  if (claims.binding_hash === undefined && !Object.keys(parts).every((part) => claims[part] !== undefined)) {
    throw invalid('the token binds nothing');
  }
  const inline = (['subject', 'resource', 'action', 'items', 'context'] as const).filter(
    (part) => claims[part] !== undefined,
  );
  const holds =
    (claims.binding_hash ?? hashOf(parts)) === hashOf(parts) &&
    inline.every((part) => isSameJson(claims[part] as Json, parts[part] ?? null));
  if (!holds)
    throw invalid(`${isAlone ? 'subject, resource, action' : 'subject, items'} or context is not what was denied`);
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
function checkFreshness(denial: Submission['denial'], claims: Claims, now: number): void {
  // What the PDP has on record is what holds; the echo of it came through the enforcement point (ARAP-BND-19).
  const echoed = denial.binding_token === undefined ? undefined : denial.expires_at;
  const exp = claims.exp * 1_000;
  const signed = claims.denial_expires_at === undefined ? undefined : Date.parse(claims.denial_expires_at);
  const echo = echoed === undefined ? (signed ?? exp) : Date.parse(echoed);
  if (signed === undefined ? exp > echo : signed !== echo) {
    throw invalid('denial.expires_at is not the one of the denial');
  }
  if (Math.min(echo, exp) + SKEW_MS <= now) throw new Problem('expired_denial', 'evaluate again for a fresh denial');
}

const invalid = (detail: string) => new Problem('invalid_denial_binding', detail);
