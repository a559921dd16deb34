import { inLogScope } from '../apps/shared/log-scope.ts';
import type { ActivityPorts, Ended, GatedCallRef } from '../workflows/activity-ports.ts';
import { createDecideAndClaim } from './decide-and-claim.ts';
import type { ActivityDeps } from './step.ts';
import { createInvokeTool } from './invoke-tool.ts';
import { createPlaces } from './places.ts';
import { createReadResolution } from './read-resolution.ts';
import { createSettle } from './settle.ts';

export function createActivities(deps: ActivityDeps): ActivityPorts {
  const places = createPlaces(deps);
  return {
    readResolution: inScope(endedOnceGone(deps, createReadResolution(deps))),
    decideAndClaim: inScope(endedOnceGone(deps, createDecideAndClaim(deps, places))),
    invokeTool: inScope(createInvokeTool(deps, places)),
    settle: inScope(endedOnceGone(deps, createSettle(deps))),
  };
}

/** Names the call in each line that a step logs and in each request that it makes. */
const inScope =
  <Call extends GatedCallRef, Answer>(step: (call: Call) => Promise<Answer>) =>
  (call: Call): Promise<Answer> =>
    inLogScope({ gatedCall: call.gatedCallId }, () => step(call));

/**
 * A step that fails because its call is gone says that the call has ended: a repetition would never find it. Checked after a
 * failure only, so that a step costs no more for it, and a call that goes in the middle of a step counts, too.
 */
function endedOnceGone<Call extends GatedCallRef, Answer>(
  { store, log }: ActivityDeps,
  step: (call: Call) => Promise<Answer>,
) {
  return async (call: Call): Promise<Answer | Ended> => {
    try {
      return await step(call);
    } catch (error) {
      // Where that cannot be told now either, the step's own failure stands.
      if (!(await store.isGone(call.gatedCallId).catch(() => false))) throw error;
      log.warn({ gatedCall: call.gatedCallId }, 'a gated call is gone; its workflow ends');
      return { kind: 'ended' };
    }
  };
}
