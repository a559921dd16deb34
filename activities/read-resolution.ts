import type { ActivityPorts, Ended, Granted, StillOpen } from '../workflows/activity-ports.ts';
import { CountersignError, isSealBroken } from '../workflows/domain/errors.ts';
import type { EndReason } from '../workflows/domain/gated-call/gated-call.ts';
import type { ResolutionStatus } from '../workflows/domain/ports.ts';
import { createCallStep } from './call-step.ts';
import type { ActivityDeps } from './deps.ts';
import { createKeepStatement, createKeepWhatIsKnown } from './keep-statement.ts';
import type { CallProgress, StoredCall } from './stores/stored-call.ts';
import { untilDeadline, waitWithin } from './wait.ts';

/** After a status that could not be read though there was a reason to ask. */
const UNKNOWN_MS = 10_000;

/** How each end of an access request ends the gated call. @see SEP-2848, Lifecycle table */
const ENDS = {
  denied: { to: 'denied', reason: 'resolution_denied' },
  expired: { to: 'denied', reason: 'request_expired' },
  cancelled: { to: 'cancelled', reason: 'request_cancelled' },
  failed: { to: 'failed', reason: 'resolution_failed' },
} as const satisfies Record<string, { to: 'denied' | 'cancelled' | 'failed'; reason: EndReason }>;

/** How the access request of a call stands; `unknown` when it cannot be read now. */
export type RequestStatus = ResolutionStatus | { readonly kind: 'unknown' };

/** Asks the authoritative source how the access request of a call stands. Submits the request that is not there yet. */
export function createRequestStatus(
  deps: Pick<ActivityDeps, 'accessRequests' | 'ensureSubmitted' | 'log'>,
): (call: Pick<StoredCall, 'gatedCallId' | 'handle'>) => Promise<RequestStatus> {
  return async ({ gatedCallId, handle }) => {
    try {
      if (handle !== undefined) return await deps.accessRequests.read(handle);
      await deps.ensureSubmitted({ gatedCallId });
      return { kind: 'pending' };
    } catch (error) {
      if (isSealBroken(error) || !(error instanceof CountersignError)) throw error;
      deps.log.warn({ gatedCall: gatedCallId, code: error.code }, 'status of an access request could not be read');
      return { kind: 'unknown' };
    }
  };
}

const GRANTED: Granted = { kind: 'granted' };
const open = ({ generation }: CallProgress, waitMs: number): StillOpen => ({ kind: 'open', generation, waitMs });
const isPastGrant = ({ state }: CallProgress) => ['granted', 'input_required', 'claimed'].includes(state);

/** Asks the access request service how the request of a pending call stands, and moves the call on by what it says. */
export function createReadResolution(deps: ActivityDeps): ActivityPorts['readResolution'] {
  const { store } = deps;
  const requestStatus = createRequestStatus(deps);
  const keepStatement = createKeepStatement(deps);
  const keepWhatIsKnown = createKeepWhatIsKnown(deps);

  return createCallStep<Granted | StillOpen>(deps, {
    later: (call, waitMs) => (isPastGrant(call) ? GRANTED : open(call, waitMs)),

    async known(call) {
      if (isPastGrant(call)) return GRANTED;
      if (call.state !== 'pending') return { kind: 'ended' };
      if (call.remainingMs > 0) return undefined;
      await keepWhatIsKnown(call);
      await store.expire(call.gatedCallId);
      return { kind: 'ended' };
    },

    async take(call): Promise<Granted | StillOpen | Ended> {
      const { gatedCallId, generation } = call;
      const status = await requestStatus(call);
      if (status.kind === 'pending') return open(call, untilDeadline(call));
      if (status.kind === 'unknown') return open(call, waitWithin(call, { minMs: UNKNOWN_MS, maxMs: UNKNOWN_MS }));
      await keepStatement(call, status);
      if (status.kind === 'granted') {
        const state = await store.grant(gatedCallId, generation, status.approval);
        return state === 'granted' ? GRANTED : { kind: 'ended' };
      }
      const end = ENDS[status.kind];
      await store.end(gatedCallId, end.to, end.reason, 'resolution');
      return { kind: 'ended' };
    },
  });
}
