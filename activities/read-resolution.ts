import type { Approval } from '../workflows/domain/authzen/evaluation.ts';
import { CountersignError, isSealBroken } from '../workflows/domain/errors.ts';
import { pauseMs } from '../workflows/domain/gated-call/deadlines.ts';
import type { EndReason } from '../workflows/domain/gated-call/gated-call.ts';
import type { ResolutionStatus } from '../workflows/domain/ports.ts';
import type { Awaiting, Ended } from '../workflows/activity-ports.ts';
import type { ActivityDeps } from './deps.ts';
import type { StoredCall } from './stores/stored-call.ts';

/** How each end of an access request ends the gated call. @see SEP-2848, Lifecycle table */
const ENDS = {
  denied: { to: 'denied', reason: 'resolution_denied' },
  expired: { to: 'denied', reason: 'request_expired' },
  cancelled: { to: 'cancelled', reason: 'request_cancelled' },
  failed: { to: 'failed', reason: 'resolution_failed' },
} as const satisfies Record<string, { to: 'denied' | 'cancelled' | 'failed'; reason: EndReason }>;

/** The access request was granted; the approval is kept, and is what the PDP is asked with. */
export interface Granted {
  readonly kind: 'granted';
  readonly approval: Approval;
}

/** Asks the authoritative source how the access request stands, and moves a pending call on by what it says. */
export function createReadResolution(
  deps: ActivityDeps,
): (call: StoredCall, look: number) => Promise<Granted | Awaiting | Ended> {
  const { store, accessRequests, settings } = deps;

  const lookAgain = (call: StoredCall, look: number, askedMs?: number) =>
    ({
      kind: 'wait',
      awaits: 'resolution',
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
    try {
      if (call.handle === undefined) {
        await deps.ensureSubmitted({ gatedCallId: call.gatedCallId });
        return { kind: 'pending' };
      }
      return await accessRequests.read(call.handle);
    } catch (error) {
      if (isSealBroken(error) || !(error instanceof CountersignError)) throw error;
      deps.log.warn(
        { gatedCallId: call.gatedCallId, code: error.code },
        'status of an access request could not be read',
      );
      return { kind: 'pending' };
    }
  }

  return async (call, look) => {
    const { gatedCallId, generation } = call;
    const status = await statusOf(call);
    if (status.kind === 'pending') return lookAgain(call, look, status.retryAfterMs);
    if (status.kind === 'granted') {
      const state = await store.grant(gatedCallId, generation, status.approval);
      return state === 'granted' ? { kind: 'granted', approval: status.approval } : { kind: 'ended' };
    }
    const end = ENDS[status.kind];
    await store.end(gatedCallId, end.to, end.reason, 'resolution');
    return { kind: 'ended' };
  };
}
