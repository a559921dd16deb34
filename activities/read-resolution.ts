import type { Approval } from '../workflows/domain/authzen/evaluation.ts';
import type { EndReason } from '../workflows/domain/gated-call/gated-call.ts';
import type { Ended, Wait } from '../workflows/activity-ports.ts';
import type { ActivityDeps } from './deps.ts';
import { createKeepStatement } from './keep-statement.ts';
import { createRequestStatus } from './request-status.ts';
import type { StoredCall } from './stores/stored-call.ts';
import { waitForWord, waitWithin } from './wait.ts';

/** After a status that could not be read though there was a reason to ask. */
const UNKNOWN_MS = 10_000;

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
export function createReadResolution(deps: ActivityDeps): (call: StoredCall) => Promise<Granted | Wait | Ended> {
  const { store } = deps;
  const requestStatus = createRequestStatus(deps);
  const keepStatement = createKeepStatement(deps);

  return async (call) => {
    const { gatedCallId, generation } = call;
    const status = await requestStatus(call);
    if (status.kind === 'pending') return waitForWord(call);
    if (status.kind === 'unknown') return waitWithin(call, { minMs: UNKNOWN_MS, maxMs: UNKNOWN_MS });
    await keepStatement(call, status);
    if (status.kind === 'granted') {
      const state = await store.grant(gatedCallId, generation, status.approval);
      return state === 'granted' ? { kind: 'granted', approval: status.approval } : { kind: 'ended' };
    }
    const end = ENDS[status.kind];
    await store.end(gatedCallId, end.to, end.reason, 'resolution');
    return { kind: 'ended' };
  };
}
