import { createHash } from 'node:crypto';
import { request } from 'undici';
import * as z from 'zod';
import { boundBundle, boundParts, isSameJson } from '../../../workflows/domain/authzen/denial-binding.ts';
import type { EvaluationRequest } from '../../../workflows/domain/authzen/evaluation.ts';
import { canonicalJson, type Json, type JsonObject, objectOf } from '../../../workflows/domain/canonical-json.ts';
import { MAX_MEMBERS } from '../../../workflows/domain/faithful-json.ts';
import { callDigest } from '../../../workflows/domain/gated-call/call-binding.ts';
import { parseFaithful } from '../../shared/http/faithful-json.ts';
import type { Timing } from '../../shared/limits.ts';
import { sha256 } from '../../shared/crypto.ts';
import { checkFreshness, type Claims, type DenialTrust, invalid, verifySigned } from './denial-token.ts';
import { ApiProblem } from './problem.ts';
import { type ShapedSubmission, type Submission, toolOf } from './submission.ts';

/** The contents of a genuine denial that covers the submission. */
export type VerifiedDenial = Readonly<ReturnType<typeof denialOf>>;

/** A submitted item, alone or in a bundle, with its verified denial. */
export interface DeniedItem {
  readonly submission: Submission;
  readonly denial: VerifiedDenial;
}

/** A denial and the items that were submitted with it: one, or all items of a bundle. */
interface Proof {
  readonly denial: Submission['denial'];
  readonly items: readonly [Submission, ...Submission[]];
}

/**
 * Verifies that every item has a genuine, fresh, requestable denial. It checks signature, issuer and audience of all denials, then
 * their binding, then their freshness, so that a forged denial is never reported as expired. A denial of a bundle has to cover exactly
 * its items, in order. Returns each item with its denial. The binding hash covers that item alone, and so does its approval
 * (ARAP-SCP-06). Throws an `ApiProblem`.
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
  if (first === undefined) throw new Error('a submission without items passed validation');
  return { denial: first.denial, items: [first, ...rest] };
}

function denialOf(submission: Submission, { claims, evaluationId }: { claims: Claims; evaluationId: string }) {
  const members = claims.binding_context_members;
  return {
    evaluationId,
    tokenId: claims.jti,
    requester: claims.requester,
    // The unsigned echo in the submission must not choose the template (ARAP-SUB-26).
    template: claims.template,
    listedTemplates: claims.listed_templates,
    reason: claims.reason ?? submission.denial.reason,
    title: claims.display?.title,
    description: claims.display?.description,
    policies: claims.policies,
    bindingHash: hashOf(boundParts(asEvaluation(submission), members)),
    bindingContextMembers: members,
    toolDigest: boundToolDigest(submission, members),
    /** The greatest grant that policy allows on the request. */
    grantable: claims.grantable,
    /** Digest of the content that approvers see: of the call, or of the whole evaluation request. */
    callDigest: shownDigest(submission, members),
  };
}

/** The digest of the tool's description, as the gateway stated it in what the denial binds. Other enforcement points state none. */
function boundToolDigest(submission: Submission, members: readonly string[]): string | undefined {
  const { tool, tool_digest: digest } = members.includes('call') ? objectOf(submission.context['call']) : {};
  const isDigest = typeof digest === 'string' && /^sha-256:[0-9a-f]{64}$/.test(digest);
  return isDigest && tool === toolOf(submission) ? digest : undefined;
}

const asEvaluation = (submission: Submission) => submission as unknown as EvaluationRequest;
const hashOf = (parts: JsonObject) => createHash('sha256').update(canonicalJson(parts)).digest('base64url');

/**
 * The hash and the inline copies must match where the token has them, and it must have one of them (PRJ-04). A token about several
 * items binds them in `items`, never separately.
 */
function compareBinding({ items }: Proof, claims: Claims): void {
  const [first, ...others] = items;
  const members = claims.binding_context_members;
  const isAlone = others.length === 0;
  const parts = isAlone ? boundParts(asEvaluation(first), members) : boundBundle(items.map(asEvaluation), members);
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
    throw invalid(`${isAlone ? 'subject, resource, action' : 'subject, items'} or context differs from the denial`);
}

/**
 * Approvers see the bytes that will run: the denial must bind the arguments, directly or by the digest of the call (PRJ-17). Returns
 * the digest that an approver's decision names.
 */
function shownDigest(submission: Submission, members: readonly string[]): string {
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
  readonly pdp: string;
  readonly serviceToken: () => Promise<string>;
}

/**
 * Asks the PDP for the binding token of an evaluation's denial, which is then verified like any other. Undefined when the PDP has no
 * record or shows none: an evaluation id alone then binds nothing (ARAP-BND-24). Throws an `ApiProblem`: `not_requestable` for an
 * evaluation that an approval cannot change, 503 while the PDP does not answer.
 * @see ARAP-SUB-13, ARAP-SUB-22, ARAP-BND-19
 */
export function createRecordedDenials(of: RecordedDenialOptions) {
  return async (evaluationId: string): Promise<string | undefined> => {
    const answer = await ask(`${of.pdp}/access/v1/denials/${encodeURIComponent(evaluationId)}`, of);
    if (answer.status === 404) return undefined;
    const found = answer.status === 200 ? answerSchema.safeParse(answer.body).data : undefined;
    if (found === undefined) throw unavailable();
    if ('binding_token' in found) return found.binding_token as string;
    throw new ApiProblem('not_requestable', 'the evaluation is not a denial that an approval can change');
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

const unavailable = () => new ApiProblem(503, 'the policy decision point does not return its record of the denial');
