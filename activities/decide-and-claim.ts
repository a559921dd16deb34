import { randomText, sha256 } from '../apps/shared/crypto.ts';
import type { ActivityPorts, Claimed, Ended, InputRequired, Retry } from '../workflows/activity-ports.ts';
import {
  type AccessRequestOffer,
  type Approval,
  type Decision,
  joinDecisions,
  onBasisOfAll,
  refused,
} from '../workflows/domain/authzen/evaluation.ts';
import { CountersignError } from '../workflows/domain/errors.ts';
import { isIntact } from '../workflows/domain/gated-call/call-binding.ts';
import type { EndReason } from '../workflows/domain/gated-call/gated-call.ts';
import { newSubmission } from '../workflows/domain/gated-call/submission.ts';
import { type Additions, additionsOf } from '../workflows/domain/submission-input/answers.ts';
import { formDigest, questionsOf } from '../workflows/domain/submission-input/request-form.ts';
import { mappingDigest } from '../workflows/domain/tools/tool-facts.ts';
import type { Places } from './places.ts';
import { type ActivityDeps, createCallStep, LATER_MS, untilDeadline, untilRetry } from './step.ts';
import { type CallProgress, databaseNow, type StoredCall } from './stores/stored-call.ts';

type Decided = Awaited<ReturnType<ActivityPorts['decideAndClaim']>>;
type NotClaimed = Exclude<Decided, { kind: 'claimed' }>;
type ApprovedCall = StoredCall & { readonly approval: Approval };

const ENDED = { kind: 'ended' } as const;
const retry = (waitMs: number): Retry => ({ kind: 'retry', waitMs });
const claimed = ({ executionTimeoutMs }: ActivityDeps['settings'], claimId: string): Claimed => ({
  ...{ kind: 'claimed', claimId, executionTimeoutMs },
});
const putOff = (call: StoredCall, askedMs?: number): Retry => retry(untilRetry(call, askedMs));

async function deny({ store }: ActivityDeps, { gatedCallId }: StoredCall, reason: EndReason): Promise<Ended> {
  await store.end(gatedCallId, 'denied', reason, 're-evaluation');
  return ENDED;
}

/**
 * Takes the one right to execute an approved call, for a decision that was asked for just now. Cancel and expiry
 * compete for the same row and exactly one wins.
 */
export function createDecideAndClaim(deps: ActivityDeps, places: Places): ActivityPorts['decideAndClaim'] {
  const decide = createCallStep<Decided>(deps, {
    known: (call) => withoutContent(deps, call),
    take: (call) => take(deps, call),
    later: (_call, waitMs) => retry(waitMs),
  });
  // A worker claims only what it can send now. A call that finds no place is not claimed, so it can still be cancelled.
  return (call) => places.within(call.gatedCallId, () => decide(call), retry);
}

/** The answer that follows from the row alone. Undefined: the step needs the content of the call. */
async function withoutContent({ store, settings }: ActivityDeps, call: CallProgress): Promise<Decided | undefined> {
  if (call.state === 'claimed' && call.claimId !== undefined) return claimed(settings, call.claimId);
  // The step was taken before, and its answer was lost.
  if (call.state === 'pending') return { kind: 'next_generation' };
  if (call.state !== 'granted' && call.state !== 'input_required') return ENDED;
  if (call.remainingMs <= 0) {
    await store.expire(call.gatedCallId);
    return ENDED;
  }
  // A signal comes with the last answer of the owner.
  return call.state === 'input_required' ? { kind: 'input_required', waitMs: untilDeadline(call) } : undefined;
}

/** Exchanges a fresh "allow" for the claim. */
async function take(deps: ActivityDeps, call: StoredCall): Promise<Decided> {
  const { store, settings } = deps;
  const { gatedCallId, generation, epoch, approval } = call;
  if (approval === undefined) return ENDED;
  const waitMs = await causeToWait(deps, call);
  if (waitMs !== undefined) return retry(waitMs);
  const answer = await reEvaluate(deps, { ...call, approval });
  if (answer.kind !== 'allowed') return answer;
  const { executionTimeoutMs } = settings;
  const { decisionId } = answer;
  // A decision is claimed at most once. So no process that still holds an earlier claim of the call can be taken for this one.
  const claimId = decisionId;
  const outcome = await store.claim({ gatedCallId, generation, decisionId, claimId, epoch, executionTimeoutMs });
  if (outcome === 'won' || outcome === 'mine') return claimed(settings, claimId);
  if (outcome === 'stale' || outcome === 'frozen') return putOff(call);
  // A claim that lost to a deadline means that the deadline has to be carried out.
  await store.expire(gatedCallId);
  return ENDED;
}

/** Milliseconds to wait while no policy decision can allow a claim: the clocks are wrong, or the database was restored. */
async function causeToWait(
  { clocksAgree, restores, log }: ActivityDeps,
  call: StoredCall,
): Promise<number | undefined> {
  const { gatedCallId, mayBeCopied } = call;
  if (!clocksAgree()) {
    const why = 'a claim is put off: the clocks are too far apart, or were not compared yet';
    log.warn({ gatedCall: gatedCallId }, why);
    return untilRetry(call);
  }
  if (!restores.isCompared()) return LATER_MS;
  if (!mayBeCopied || !(await restores.contradicts(gatedCallId))) return undefined;
  await restores.report(gatedCallId);
  return LATER_MS;
}

/** The PDP allows the call now. The decision is fresh for five seconds. */
interface Allowed {
  readonly kind: 'allowed';
  readonly decisionId: string;
}

/**
 * The PDP's fresh answer with the approval as input, against the binding as it was captured and the policy as it is now.
 * An approval is an input to this decision and never a permission by itself (SEP-2848, Completion).
 */
async function reEvaluate(deps: ActivityDeps, call: ApprovedCall): Promise<Allowed | NotClaimed> {
  const { store, clock, log } = deps;
  if (!isIntact(call.binding, sha256)) return deny(deps, call, 'binding_integrity');
  try {
    const tool = await checkTool(deps, call);
    if (tool === 'tool_changed' || tool === 'requirement_unmet') return await deny(deps, call, tool);
    if (tool === 'undecided') return putOff(call);
    // Asked last, and as old as the request: an upstream that lists its tools slowly, or a database that is slow to take
    // the decision, must not make an old answer count as a fresh one.
    const askedAtMs = databaseNow(call, clock);
    const decision = await decide(deps, call);
    const decisionId = await store.recordDecision(call, decision, askedAtMs);
    switch (decision.kind) {
      case 'allow':
        return { kind: 'allowed', decisionId };
      case 'retry':
        return putOff(call, decision.retryAfterMs);
      case 'deny':
        // The caller had signed in by then as the binding says, and cannot sign in anew for a call that waits.
        return await deny(deps, call, decision.unmet ? 'obligation_unmet' : 'policy_denied');
      case 'requestable':
        return await requestAgain(deps, call, decision);
    }
  } catch (error) {
    if (!(error instanceof CountersignError) || !error.retryable) throw error;
    log.warn({ gatedCall: call.gatedCallId, code: error.code }, 'a call could not be evaluated again; trying later');
    return putOff(call);
  }
}

/**
 * The joint decision on all evaluation requests of the call. The approval is for one of them, so each is asked by itself; the
 * others have to be allowed as they are.
 */
async function decide(
  { pdp }: ActivityDeps,
  { binding: { evaluation, others = [], claims }, approval }: ApprovedCall,
): Promise<Decision> {
  const [decision, ...further] = await Promise.all([
    pdp.evaluate(evaluation, approval, claims),
    ...others.map((request) => pdp.evaluate(request, undefined, claims)),
  ]);
  const { decision: ofOthers } = joinDecisions(further);
  if (further.length > 0 && ofOthers.kind !== 'allow') return refused(ofOthers);
  return decision.kind === 'allow' ? onBasisOfAll(decision, further) : decision;
}

/**
 * Whether the tool is the one that the call was made for, still is the one that the operator accepted, and meets its
 * requirements now. `undecided`: that cannot be checked at the moment.
 */
async function checkTool(
  { upstreams, acceptedTools, requirements: checks, log }: ActivityDeps,
  { gatedCallId, binding }: StoredCall,
): Promise<'fit' | 'undecided' | Extract<EndReason, 'tool_changed' | 'requirement_unmet'>> {
  const tool = await upstreams.find(binding.tool, { live: true });
  if (tool?.digest !== binding.toolDigest) return 'tool_changed';
  if ((await acceptedTools.among([tool])).length === 0) return 'tool_changed';
  // Other evaluation requests than those that were answered and approved belong to another call (SEP-2848, Completion).
  if (mappingDigest(tool.facts.mapping, sha256) !== binding.mappingDigest) return 'tool_changed';
  const { requirements } = tool.facts;
  const { caller, claims = {} } = binding;
  const { unmet, undecided } = await checks.check({ requirements, tool: binding.tool, caller, claims });
  if (unmet.length > 0) {
    log.warn({ gatedCall: gatedCallId, unmet }, 'a gated call is denied because requirements of its tool are not met');
    return 'requirement_unmet';
  }
  return undecided.length > 0 ? 'undecided' : 'fit';
}

/**
 * The policy wants a further approval: the present generation is used up and the next submission is recorded, with a key
 * of its own, in one commit and before the access request service is told. The next step submits it; should this process die
 * before, a poll of any worker does. Without a next generation the call has ended. @see SEP-2848, Completion (request)
 */
async function requestAgain(
  deps: ActivityDeps,
  call: StoredCall,
  denial: Extract<Decision, { kind: 'requestable' }>,
): Promise<NotClaimed> {
  const { store, settings } = deps;
  const { caller, evaluation } = call.binding;
  const input = await furtherInput(deps, call, denial.offer);
  if (input.kind !== 'given') return input;
  const facts = { evaluation, caller, denial, generation: call.generation + 1, additions: input.additions };
  const next = newSubmission(facts, settings, randomText);
  const state = await store.requestAgain(call, next, settings.maxGenerations);
  return state === 'pending' ? { kind: 'next_generation' } : ENDED;
}

/** A form that changes each time its answers are there is asked no fourth time. */
const MAX_ROUNDS = 3;
const KEY_BYTES = 16;

/** The input for the next access request; undefined where it needs none. */
interface Given {
  readonly kind: 'given';
  readonly additions: Additions | undefined;
}

/**
 * The input of the requester for a further access request: the answers to the first one, where it needs the same; else the answers
 * of this generation. A missing answer is asked for within the task, and then the call waits. A call that cannot be asked is
 * denied: an incomplete request is not made.
 * @see SEP-2848, Collecting submission input (APPR-094); ARAP-FRM-03, ARAP-FRM-04
 */
async function furtherInput(
  deps: ActivityDeps,
  call: StoredCall,
  { requestSchemaUrl: schemaUrl, requestCatalogsUrl: catalogsUrl }: AccessRequestOffer,
): Promise<Given | InputRequired | Ended> {
  const { store, requestForms, settings } = deps;
  const { input } = call.binding;
  if (schemaUrl === undefined) return { kind: 'given', additions: undefined };
  // A value that was never checked against a catalog is not from it. The service checks the others once more.
  const isChosen = catalogsUrl === undefined || input?.isFromCatalogs === true;
  if (schemaUrl === input?.schemaUrl && isChosen) return { kind: 'given', additions: input.additions };
  // Within a task there is one form for everything, and a choice takes several.
  const form = catalogsUrl === undefined ? await requestForms.at(schemaUrl) : undefined;
  if (form === undefined) return deny(deps, call, 'input_missing');
  const digest = formDigest(form, sha256);
  // A form without required fields holds no call up.
  const additions = additionsOf(form, await store.givenInput(call, digest));
  if (additions !== undefined) return { kind: 'given', additions };
  const state = await store.askInput(call, {
    // Never a key of a question that comes before a task, nor one that was given out before.
    questions: questionsOf(form).map((part, n) => ({ key: `input-${n + 1}-${randomText(KEY_BYTES)}`, form: part })),
    formDigest: digest,
    maxGenerations: settings.maxGenerations,
    maxRounds: MAX_ROUNDS,
  });
  return state === 'input_required' ? { kind: 'input_required', waitMs: untilDeadline(call) } : ENDED;
}
