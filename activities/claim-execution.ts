import { createHash } from 'node:crypto';
import type { ActivityPorts, Awaiting, Claimed, Ended } from '../workflows/activity-ports.ts';
import type { ActivityDeps } from './deps.ts';
import { createReEvaluate, putOff } from './re-evaluate.ts';
import { createReadResolution } from './read-resolution.ts';
import type { StoredCall } from './stores/stored-call.ts';

/**
 * Takes the one irrevocable right to execute: once the access request is granted, and for a decision that was asked for
 * just now. Cancel and expiry compete for the same row and exactly one wins.
 */
export function createClaimExecution(deps: ActivityDeps): ActivityPorts['claimExecution'] {
  const { store } = deps;
  const readResolution = createReadResolution(deps);
  const claim = createClaim(deps);

  return async ({ gatedCallId }, look) => {
    const call = await store.load(gatedCallId);
    if (call.state === 'claimed') return { kind: 'claimed', executionTimeoutMs: Math.max(call.remainingMs, 1_000) };
    if (!['pending', 'input_required', 'granted'].includes(call.state)) return { kind: 'ended' };
    if (call.remainingMs <= 0) {
      await store.expire(gatedCallId);
      return { kind: 'ended' };
    }
    if (call.state === 'granted') return claim(call, look);
    const resolution = await readResolution(call, look);
    return resolution.kind === 'granted' ? claim({ ...call, approval: resolution.approval }, 1) : resolution;
  };
}

/** Exchanges a fresh "allow" for the claim. */
function createClaim(deps: ActivityDeps) {
  const { store, settings } = deps;
  const reEvaluate = createReEvaluate(deps);

  return async (call: StoredCall, look: number): Promise<Claimed | Awaiting | Ended> => {
    const { gatedCallId, generation, epoch, approval } = call;
    if (approval === undefined) return { kind: 'ended' };
    const answer = await reEvaluate({ ...call, approval }, look);
    if (answer.kind !== 'allowed') return answer;
    const { executionTimeoutMs } = settings;
    const claimId = claimIdOf(gatedCallId, generation);
    const { decisionId } = answer;
    const outcome = await store.claim({ gatedCallId, generation, decisionId, claimId, epoch, executionTimeoutMs });
    if (outcome === 'won' || outcome === 'mine') return { kind: 'claimed', executionTimeoutMs };
    if (outcome === 'stale' || outcome === 'frozen') return putOff(call, look);
    // Lost to a deadline means that the deadline has to be carried out.
    await store.expire(gatedCallId);
    return { kind: 'ended' };
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
