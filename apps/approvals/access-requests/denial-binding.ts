import { createHash } from 'node:crypto';
import { request } from 'undici';
import * as z from 'zod';
import { boundBundle, boundParts, isSameJson } from '../../../workflows/domain/authzen/denial-binding.ts';
import type { EvaluationRequest } from '../../../workflows/domain/authzen/evaluation.ts';
import { canonicalJson, type Json, type JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { MAX_MEMBERS } from '../../../workflows/domain/faithful-json.ts';
import { callDigest } from '../../../workflows/domain/gated-call/call-binding.ts';
import { parseFaithful } from '../../shared/http/faithful-json.ts';
import type { Timing } from '../../shared/limits.ts';
import { sha256 } from '../../shared/crypto.ts';
import { checkFreshness, type Claims, type DenialTrust, invalid, verifySigned } from './denial-token.ts';
import { Problem } from './problem.ts';
import { type ShapedSubmission, type Submission, toolOf } from './submission.ts';

/** What a genuine denial that covers the submission says. */
interface VerifiedDenial {
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

const answerSchema = z.union([
  z.looseObject({ binding_token: z.string() }),
  z.looseObject({ requestable: z.literal(false) }),
]);

interface RecordedDenialOptions extends Timing {
  /** Address of the PDP. */
  readonly pdp: string;
  readonly serviceToken: () => Promise<string>;
}

/**
 * Looks up, at the PDP, the denial of an evaluation: answers its binding token, which is then checked like any other.
 * Undefined when the PDP has none on record, or shows none: evaluation ids then bind nothing (ARAP-BND-24). Throws a
 * `Problem`: `not_requestable` for an evaluation that no request could cure, 503 while the PDP does not answer.
 * @see ARAP-SUB-13, ARAP-SUB-22, ARAP-BND-19
 */
export function createRecordedDenials(of: RecordedDenialOptions) {
  return async (evaluationId: string): Promise<string | undefined> => {
    const answer = await ask(`${of.pdp}/access/v1/denials/${encodeURIComponent(evaluationId)}`, of);
    if (answer.status === 404) return undefined;
    const found = answer.status === 200 ? answerSchema.safeParse(answer.body).data : undefined;
    if (found === undefined) throw unavailable();
    if ('binding_token' in found) return found.binding_token as string;
    throw new Problem('not_requestable', 'the evaluation was no denial that a request could cure');
  };
}

async function ask(
  url: string,
  { serviceToken, clock, limits }: RecordedDenialOptions,
): Promise<{ status: number; body: unknown }> {
  const headers = { authorization: `Bearer ${await serviceToken()}`, accept: 'application/json' };
  try {
    const signal = clock.signalAfter(limits.recordedDenialMs);
    const { statusCode, body } = await request(url, { headers, signal });
    if (statusCode === 200) return { status: statusCode, body: parseFaithful(await body.text(), MAX_MEMBERS.service) };
    await body.dump();
    return { status: statusCode, body: undefined };
  } catch {
    throw unavailable();
  }
}

const unavailable = () => new Problem(503, 'the policy decision point does not say what it has on record');
