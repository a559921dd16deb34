import type { ActivityPorts } from '../workflows/activity-ports.ts';
import { claimIdOf } from '../workflows/domain/gated-call/claim-id.ts';
import { createCallStep } from './call-step.ts';
import type { ActivityDeps } from './deps.ts';
import { createReEvaluate } from './re-evaluate.ts';
import { sha256 } from '../apps/shared/sha256.ts';
import type { CallProgress, StoredCall } from './stores/stored-call.ts';
import { LATER_MS, untilDeadline, untilRetry } from './wait.ts';

type Decided = Awaited<ReturnType<ActivityPorts['decideAndClaim']>>;

const ENDED = { kind: 'ended' } as const;
const retry = (waitMs: number) => ({ kind: 'retry', waitMs }) as const;

/**
 * Takes the one irrevocable right to execute an approved call, for a decision that was asked for just now. Cancel and expiry
 * compete for the same row and exactly one wins.
 */
export function createDecideAndClaim(deps: ActivityDeps): ActivityPorts['decideAndClaim'] {
  return createCallStep<Decided>(deps, {
    known: (call) => withoutContent(deps, call),
    take: createTake(deps),
    later: (_call, waitMs) => retry(waitMs),
  });
}

/** What follows from the row alone. Undefined: the step needs the content of the call. */
async function withoutContent({ store }: ActivityDeps, call: CallProgress): Promise<Decided | undefined> {
  if (call.state === 'claimed') return { kind: 'claimed', executionTimeoutMs: Math.max(call.remainingMs, 1_000) };
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
function createTake(deps: ActivityDeps): (call: StoredCall) => Promise<Decided> {
  const { store, settings } = deps;
  const cause = createCauseToWait(deps);
  const reEvaluate = createReEvaluate(deps);

  return async (call) => {
    const { gatedCallId, generation, epoch, approval } = call;
    if (approval === undefined) return ENDED;
    const waitMs = await cause(call);
    if (waitMs !== undefined) return retry(waitMs);
    const answer = await reEvaluate({ ...call, approval });
    if (answer.kind !== 'allowed') return answer;
    const { executionTimeoutMs } = settings;
    const claimId = claimIdOf(gatedCallId, generation, sha256);
    const { decisionId } = answer;
    const outcome = await store.claim({ gatedCallId, generation, decisionId, claimId, epoch, executionTimeoutMs });
    if (outcome === 'won' || outcome === 'mine') return { kind: 'claimed', executionTimeoutMs };
    if (outcome === 'stale' || outcome === 'frozen') return retry(untilRetry(call));
    // Lost to a deadline means that the deadline has to be carried out.
    await store.expire(gatedCallId);
    return ENDED;
  };
}

/** Milliseconds to wait while no policy decision can allow a claim: the clocks are wrong, or the database was restored. */
function createCauseToWait({ clocksAgree, restores, log }: ActivityDeps) {
  return async (call: StoredCall): Promise<number | undefined> => {
    const { gatedCallId, mayBeCopied } = call;
    if (!clocksAgree()) {
      log.warn(
        { gatedCall: gatedCallId },
        'a claim is put off: the clocks are too far apart, or were not compared yet',
      );
      return untilRetry(call);
    }
    if (!restores.isCompared()) return LATER_MS;
    if (!mayBeCopied || !(await restores.contradicts(gatedCallId))) return undefined;
    await restores.report(gatedCallId);
    return LATER_MS;
  };
}
