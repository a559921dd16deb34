import type { ActivityPorts } from '../workflows/activity-ports.ts';
import type { ActivityDeps } from './deps.ts';

/** Reads what is known of an execution. Only the database is asked: how the attempt ended elsewhere does not matter. */
export function createSettle({ store }: ActivityDeps): ActivityPorts['settle'] {
  return async ({ gatedCallId }) => {
    const call = await store.load(gatedCallId);
    if (call.state !== 'claimed') return { kind: 'ended' };
    if (call.remainingMs <= 0) {
      await store.expire(gatedCallId);
      return { kind: 'ended' };
    }
    // No permit yet: the step may be taken again, because the permit decides between it and any other.
    if (call.invocationId === undefined) return { kind: 'invoke' };
    return { kind: 'wait', waitMs: Math.ceil(call.remainingMs) + 1 };
  };
}
