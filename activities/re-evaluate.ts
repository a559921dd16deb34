import { CountersignError } from '../workflows/domain/errors.ts';
import type { Approval, Decision } from '../workflows/domain/authzen/evaluation.ts';
import { joinDecisions, onBasisOfAll, refused } from '../workflows/domain/authzen/several-decisions.ts';
import { isIntact } from '../workflows/domain/gated-call/call-binding.ts';
import { mappingDigest } from '../workflows/domain/tools/tool-facts.ts';
import type { EndReason } from '../workflows/domain/gated-call/gated-call.ts';
import { newSubmission } from '../workflows/domain/gated-call/new-submission.ts';
import type { Additions } from '../workflows/domain/submission-input/answers.ts';
import type { Ended, InputRequired, NextGeneration, Retry } from '../workflows/activity-ports.ts';
import type { ActivityDeps } from './deps.ts';
import { createFurtherInput } from './further-input.ts';
import { randomText } from '../apps/shared/random-text.ts';
import { sha256 } from '../apps/shared/sha256.ts';
import { databaseNow, type StoredCall } from './stores/stored-call.ts';
import { untilRetry } from './wait.ts';

/** The PDP allows the call now. The decision is fresh for five seconds. */
export interface Allowed {
  readonly kind: 'allowed';
  readonly decisionId: string;
}

/**
 * The PDP's fresh answer with the approval as input, against the binding as it was captured and the policy as it is now.
 * An approval is an input to this decision and never a permission by itself (SEP-2848, Completion).
 */
export function createReEvaluate(
  deps: ActivityDeps,
): (call: StoredCall & { approval: Approval }) => Promise<Allowed | Retry | NextGeneration | InputRequired | Ended> {
  const { store, clock } = deps;
  const furtherInput = createFurtherInput(deps);
  const requestAgain = createRequestAgain(deps);
  const deny = async (call: StoredCall, reason: EndReason) => {
    await store.end(call.gatedCallId, 'denied', reason, 're-evaluation');
    return { kind: 'ended' } as const;
  };

  return async (call) => {
    if (!isIntact(call.binding, sha256)) return deny(call, 'binding_integrity');
    try {
      const tool = await checkTool(deps, call);
      if (tool === 'tool_changed' || tool === 'requirement_unmet') return await deny(call, tool);
      if (tool === 'undecided') return putOff(call);
      // Asked last, and as old as the question: an upstream that lists its tools slowly, or a database that is slow to take
      // the decision, must not make an old answer count as a fresh one.
      const askedAtMs = databaseNow(call, clock);
      const decision = await decide(deps, call);
      const decisionId = await store.recordDecision(call, decision, askedAtMs);
      if (decision.kind === 'allow') return { kind: 'allowed', decisionId };
      if (decision.kind === 'retry') return putOff(call, decision.retryAfterMs);
      // Whoever made the call had signed in by then as the binding says, and nobody can do so for it now.
      if (decision.kind === 'deny') return await deny(call, decision.unmet ? 'obligation_unmet' : 'policy_denied');
      const input = await furtherInput(call, decision.offer);
      if (input.kind !== 'given') return input;
      // The next step submits; should this process die before, a poll of any worker does.
      return { kind: (await requestAgain(call, decision, input.additions)) ? 'next_generation' : 'ended' };
    } catch (error) {
      if (!(error instanceof CountersignError) || !error.retryable) throw error;
      deps.log.warn({ gatedCall: call.gatedCallId, code: error.code }, 're-evaluation is put off');
      return putOff(call);
    }
  };
}

/**
 * What the questions of the call come to now. The approval is for one of them, so each is asked by itself; the others have to be
 * allowed as they are.
 */
async function decide(
  { pdp }: ActivityDeps,
  { binding: { evaluation, others = [], claims }, approval }: StoredCall & { approval: Approval },
): Promise<Decision> {
  const [decision, ...further] = await Promise.all([
    pdp.evaluate(evaluation, approval, claims),
    ...others.map((question) => pdp.evaluate(question, undefined, claims)),
  ]);
  const { decision: ofOthers } = joinDecisions(further);
  if (further.length > 0 && ofOthers.kind !== 'allow') return refused(ofOthers);
  return decision.kind === 'allow' ? onBasisOfAll(decision, further) : decision;
}

/**
 * Whether the tool is the one that the call was made for, still is the one that the operator accepted, and everything it
 * requires is the case now. `undecided`: that cannot be looked at at the moment.
 */
async function checkTool(
  { upstreams, acceptedTools, requirements: checks, log }: ActivityDeps,
  { gatedCallId, binding }: StoredCall,
): Promise<'fit' | 'undecided' | Extract<EndReason, 'tool_changed' | 'requirement_unmet'>> {
  const tool = await upstreams.find(binding.tool, { live: true });
  if (tool?.digest !== binding.toolDigest) return 'tool_changed';
  if ((await acceptedTools.among([tool])).length === 0) return 'tool_changed';
  // Other questions than those that were answered and approved belong to another call (SEP-2848, Completion).
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

const putOff = (call: StoredCall, askedMs?: number): Retry => ({ kind: 'retry', waitMs: untilRetry(call, askedMs) });

/**
 * The policy wants a further approval: the present generation is used up and the next submission is recorded, with a key
 * of its own, in one commit and before the access request service is told. Answers whether there is a next generation; without
 * one the call has ended. @see SEP-2848, Completion (request)
 */
function createRequestAgain({ store, settings }: Pick<ActivityDeps, 'store' | 'settings'>) {
  return async (
    call: StoredCall,
    denial: Extract<Decision, { kind: 'requestable' }>,
    additions: Additions | undefined,
  ): Promise<boolean> => {
    const { caller, evaluation } = call.binding;
    const generation = call.generation + 1;
    const next = newSubmission({ evaluation, caller, denial, generation, additions }, settings, randomText);
    return (await store.requestAgain(call, next, settings.maxGenerations)) === 'pending';
  };
}
