import {
  CancellationScope,
  condition,
  continueAsNew,
  setHandler,
  sleep,
  TemporalFailure,
  workflowInfo,
} from '@temporalio/workflow';
import type { ActivityPorts, Claimed, Ended, GatedCallRef } from './activity-ports.ts';
import { idempotent, once } from './activity-proxies.ts';
import { pokeSignal } from './gated-call.messages.ts';

/** A run hands over after so many events: far from where the engine refuses or a replay is slow. */
const EVENTS_PER_RUN = 2_000;
/** After a step that failed for good, as far as the engine goes. What the row says decides; so it is asked again. */
const AFTER_FAILURE_MS = 10_000;
/** So many pokes in a row are each answered by a look at once; after them, one look in every rest. */
const POKES_AT_ONCE = 5;
const REST_MS = 5_000;

/** The life of one gated call after its access request was submitted. The row in the database is the truth; this drives it. */
export async function gatedCallWorkflow(call: GatedCallRef): Promise<void> {
  const bell = listenForPokes();
  // A call is cancelled at its row. Whoever cancels the workflow instead must not leave the call without one.
  await CancellationScope.nonCancellable(async () => {
    const step = await awaitClaim(call, bell);
    if (step.kind === 'claimed') await executeOnce(call, step);
  });
}

/** A resolution, then a decision, then the claim: one step as far as it goes, because a decision is fresh for seconds only. */
async function awaitClaim(call: GatedCallRef, bell: Bell): Promise<Claimed | Ended> {
  for (;;) {
    const found = await unlessFailed(idempotent.claimExecution(call));
    if (found !== undefined && found.kind !== 'wait') return found;
    await bell.waitAtMost(found?.waitMs ?? AFTER_FAILURE_MS);
    if (isLong()) await continueAsNew<typeof gatedCallWorkflow>(call);
  }
}

async function executeOnce(call: GatedCallRef, claimed: Claimed): Promise<void> {
  let next: Awaited<ReturnType<ActivityPorts['settle']>> = { kind: 'invoke' };
  for (;;) {
    // How far the attempt got is in the database, not in how it ended.
    if (next.kind === 'invoke') await unlessFailed(once(claimed.executionTimeoutMs).invokeTool(call));
    next = (await unlessFailed(idempotent.settle(call))) ?? { kind: 'wait', waitMs: AFTER_FAILURE_MS };
    if (next.kind === 'ended') return;
    await sleep(next.kind === 'wait' ? next.waitMs : '1 second');
    if (isLong()) await continueAsNew<typeof gatedCallWorkflow>(call);
  }
}

/** Time for another run, which begins where the row says that the call is. */
function isLong(): boolean {
  const { continueAsNewSuggested, historyLength } = workflowInfo();
  return historyLength >= EVENTS_PER_RUN || continueAsNewSuggested;
}

/** What a step answered, or undefined when it failed: no failure of a step ends the workflow, since it says nothing of the call. */
async function unlessFailed<T>(step: Promise<T>): Promise<T | undefined> {
  try {
    return await step;
  } catch (error) {
    if (!(error instanceof TemporalFailure)) throw error;
    return undefined;
  }
}

interface Bell {
  /** Resolves after the given milliseconds, or earlier when a poke came since the last wait. */
  waitAtMost(ms: number): Promise<void>;
}

function listenForPokes(): Bell {
  let rung = false;
  let inARow = 0;
  setHandler(pokeSignal, () => {
    rung = true;
  });
  return {
    async waitAtMost(ms) {
      const restMs = inARow < POKES_AT_ONCE ? 0 : Math.min(ms, REST_MS);
      if (restMs > 0) await sleep(restMs);
      const poked = rung || (ms > restMs && (await condition(() => rung, ms - restMs)));
      inARow = poked ? inARow + 1 : 0;
      rung = false;
    },
  };
}
