import { CountersignError } from '../workflows/domain/errors.ts';
import { pauseMs } from '../workflows/domain/gated-call/deadlines.ts';
import type { EndReason } from '../workflows/domain/gated-call/gated-call.ts';
import type { ResolutionStatus } from '../workflows/domain/ports.ts';
import type { ActivityPorts } from '../workflows/activity-ports.ts';
import type { ActivityDeps } from './deps.ts';
import type { StoredCall } from './stores/stored-call.ts';

/** How each end of an access request ends the gated call. @see SEP-2848, Lifecycle table */
const ENDS = {
  denied: { to: 'denied', reason: 'resolution_denied' },
  expired: { to: 'denied', reason: 'request_expired' },
  cancelled: { to: 'cancelled', reason: 'request_cancelled' },
  failed: { to: 'failed', reason: 'resolution_failed' },
} as const satisfies Record<string, { to: 'denied' | 'cancelled' | 'failed'; reason: EndReason }>;

/** Asks the authoritative source how the access request stands, and moves the call on by what it says. */
export function createReadResolution(deps: ActivityDeps): ActivityPorts['readResolution'] {
  const { store, accessRequests, settings } = deps;

  const lookAgain = (call: StoredCall, look: number, askedMs?: number) =>
    ({
      kind: 'wait',
      waitMs: pauseMs({
        attempt: look,
        minMs: settings.pollMinMs,
        maxMs: settings.pollMaxMs,
        remainingMs: Math.max(call.remainingMs, 0) + 1,
        random: Math.random(),
        askedMs,
      }),
    }) as const;

  async function statusOf(call: StoredCall): Promise<ResolutionStatus> {
    if (call.handle === undefined) return { kind: 'pending' };
    try {
      return await accessRequests.read(call.handle);
    } catch (error) {
      if (!(error instanceof CountersignError)) throw error;
      deps.log.warn(
        { gatedCallId: call.gatedCallId, code: error.code },
        'status of an access request could not be read',
      );
      return { kind: 'pending' };
    }
  }

  return async ({ gatedCallId }, look) => {
    const call = await store.load(gatedCallId);
    if (call.state === 'granted') return { kind: 'granted' };
    if (call.state === 'claimed') return { kind: 'claimed', executionTimeoutMs: Math.max(call.remainingMs, 1_000) };
    if (call.state !== 'pending' && call.state !== 'input_required') return { kind: 'ended' };
    if (call.remainingMs <= 0) {
      await store.expire(gatedCallId);
      return { kind: 'ended' };
    }
    const status = await statusOf(call);
    if (status.kind === 'pending') return lookAgain(call, look, status.retryAfterMs);
    if (status.kind === 'granted') {
      const state = await store.grant(gatedCallId, call.generation, status.approval);
      return state === 'granted' ? { kind: 'granted' } : { kind: 'ended' };
    }
    const end = ENDS[status.kind];
    await store.end(gatedCallId, end.to, end.reason, 'resolution');
    return { kind: 'ended' };
  };
}
