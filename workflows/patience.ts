import { condition, setHandler, sleep, TemporalFailure, workflowInfo } from '@temporalio/workflow';
import { pokeSignal } from './messages.ts';

/** A run hands over after so many events: far from where the engine refuses or a replay is slow. */
const EVENTS_PER_RUN = 2_000;
/** After a step that failed for good, as far as the engine goes. What the row says decides; so it is asked again. */
export const AFTER_FAILURE_MS = 10_000;
/** So many pokes in a row are each answered by a look at once; after them, one look in every rest. */
const POKES_AT_ONCE = 5;
const REST_MS = 5_000;

/** Time for another run, which begins where the row says. */
export function isLong(): boolean {
  const { continueAsNewSuggested, historyLength } = workflowInfo();
  return historyLength >= EVENTS_PER_RUN || continueAsNewSuggested;
}

/** What a step answered, or undefined when it failed: no failure of a step ends the workflow, since it says nothing of the row. */
export async function unlessFailed<T>(step: Promise<T>): Promise<T | undefined> {
  try {
    return await step;
  } catch (error) {
    if (!(error instanceof TemporalFailure)) throw error;
    return undefined;
  }
}

/** Wakes a workflow that waits. */
export interface Bell {
  /** Resolves after the given milliseconds, or earlier when a poke came since the last wait. */
  waitAtMost(ms: number): Promise<void>;
}

/** Hears pokes from now on. Call it before anything else in the workflow. */
export function listenForPokes(): Bell {
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
