import type { ActivityPorts } from '../workflows/activity-ports.ts';
import { isTerminal } from '../workflows/domain/gated-call/gated-call.ts';
import type { ActivityDeps } from './deps.ts';
import { createOutcomeProbe } from './outcome-probe.ts';
import { storeResult } from './store-result.ts';
import { LATER_MS } from './wait.ts';

/** Where nothing can be said of the call now: while the database is frozen, mostly. */
const LATER = { kind: 'retry', waitMs: LATER_MS } as const;
const PROBE_PAUSE_MS = 2_000;

/**
 * Says what is known of an execution whose attempt is over. Only the database is asked, and then the upstream's probe where
 * there is one: how the attempt ended elsewhere does not matter.
 */
export function createSettle(deps: ActivityDeps): ActivityPorts['settle'] {
  const { store, settings, restores, log } = deps;
  const probe = createOutcomeProbe(deps);

  return async ({ gatedCallId }) => {
    const call = await store.progress(gatedCallId);
    if (isTerminal(call.state)) return { kind: 'ended' };
    if (call.state !== 'claimed') {
      // It was claimed, or this step would not be taken: the row has forgotten that.
      await restores.report(gatedCallId);
      return LATER;
    }
    // No permit yet: the step may be taken again, because the permit decides between it and any other.
    if (call.invocation === undefined && call.isFrozen) return LATER;
    if (call.invocation === undefined && !call.isPermitInDoubt && call.remainingMs > 0) return { kind: 'invoke' };
    if (call.isPermitInDoubt) {
      log.error(
        { gatedCall: gatedCallId },
        'a failover may have lost the permit of a claimed call: it is not sent again, and its outcome is unknown',
      );
    }
    if (call.invocation !== undefined) {
      const { invocationId, upstreamKey } = call.invocation;
      const result = await probe(call, upstreamKey);
      if (result !== undefined) {
        await storeResult(deps, { gatedCallId, invocationId, cause: 'probe' }, result);
        return { kind: 'ended' };
      }
    }
    if (call.remainingMs <= 0) {
      return isTerminal(await store.expire(gatedCallId)) ? { kind: 'ended' } : LATER;
    }
    const hasProbe = settings.outcomeProbes[call.tool] !== undefined;
    return { kind: 'retry', waitMs: Math.min(Math.ceil(call.remainingMs) + 1, hasProbe ? PROBE_PAUSE_MS : Infinity) };
  };
}
