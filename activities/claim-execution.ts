import { createHash } from 'node:crypto';
import type { ActivityPorts } from '../workflows/activity-ports.ts';
import type { ActivityDeps } from './deps.ts';

/** Takes the one irrevocable right to execute; cancel and expiry compete for the same row and exactly one wins. */
export function createClaimExecution({ store, settings }: ActivityDeps): ActivityPorts['claimExecution'] {
  return async ({ gatedCallId }, { decisionId, generation }) => {
    const outcome = await store.claim({
      gatedCallId,
      generation,
      decisionId,
      claimId: claimIdOf(gatedCallId, generation),
      executionTimeoutMs: settings.executionTimeoutMs,
    });
    switch (outcome) {
      case 'won':
      case 'mine':
        return { kind: 'claimed', executionTimeoutMs: settings.executionTimeoutMs };
      case 'stale':
        return { kind: 'stale' };
      case 'lost':
        // Lost to a deadline means that the deadline has to be carried out.
        await store.expire(gatedCallId);
        return { kind: 'ended' };
    }
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
