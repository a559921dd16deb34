import { createHash } from 'node:crypto';
import type { ActivityPorts } from '../workflows/activity-ports.ts';
import type { ActivityDeps } from './deps.ts';
import { createReEvaluate, putOff } from './re-evaluate.ts';

/**
 * Takes the one irrevocable right to execute, for a decision that was asked for just now; cancel and expiry compete for
 * the same row and exactly one wins.
 */
export function createClaimExecution(deps: ActivityDeps): ActivityPorts['claimExecution'] {
  const { store, settings } = deps;
  const reEvaluate = createReEvaluate(deps);
  const expired = async (gatedCallId: string) => {
    await store.expire(gatedCallId);
    return { kind: 'ended' } as const;
  };

  return async ({ gatedCallId }, attempt) => {
    const call = await store.load(gatedCallId);
    const { state, approval, generation } = call;
    if (state === 'claimed') return { kind: 'claimed', executionTimeoutMs: Math.max(call.remainingMs, 1_000) };
    if (state !== 'granted' || approval === undefined) return { kind: 'ended' };
    if (call.remainingMs <= 0) return expired(gatedCallId);
    const answer = await reEvaluate({ ...call, approval }, attempt);
    if (answer.kind !== 'allowed') return answer;
    const { executionTimeoutMs } = settings;
    const claimId = claimIdOf(gatedCallId, generation);
    const { decisionId } = answer;
    const outcome = await store.claim({ gatedCallId, generation, decisionId, claimId, executionTimeoutMs });
    // Lost to a deadline means that the deadline has to be carried out.
    if (outcome === 'lost') return expired(gatedCallId);
    if (outcome === 'stale') return putOff(call, attempt);
    return { kind: 'claimed', executionTimeoutMs };
  };
}

/**
 * Derived, not random: whoever repeats the claim after a commit whose answer was lost finds its own claim.
 * The first sixteen bytes of a SHA-256 in the form of a version 8 UUID (RFC 9562 section 5.8).
 */
export function claimIdOf(gatedCallId: string, generation: number): string {
  const hex = createHash('sha256').update(`execution-claim/${gatedCallId}/${generation}`).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
