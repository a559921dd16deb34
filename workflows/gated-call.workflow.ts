import {
  CancellationScope,
  condition,
  continueAsNew,
  setCurrentDetails,
  setHandler,
  sleep,
  TemporalFailure,
  workflowInfo,
} from '@temporalio/workflow';
import type { ActivityPorts, Claimed, GatedCallRef, GatedCallStart } from './activity-ports.ts';
import { idempotent, once } from './activity-proxies.ts';
import { changedSignal } from './messages.ts';

/** A run hands over to the next one after so many events: far from where the engine refuses or a replay is slow. */
const EVENTS_PER_RUN = 2_000;
/** After a step that failed for good, as far as the engine goes. What the row says decides; so the step is repeated. */
const AFTER_FAILURE_MS = 10_000;
/** So many signals in a row each end a wait at once. After them, signals end at most one wait in every pause. */
const SIGNALS_AT_ONCE = 5;
const FLOOD_PAUSE_MS = 5_000;

/**
 * The life of one gated call after its access request was submitted. The row in the database is the truth; this drives it. The
 * workflow waits for days without a step: for a signal, or for its own timer. No failure of a step ends it.
 */
export async function gatedCallWorkflow({ gatedCallId, pending }: GatedCallStart): Promise<void> {
  const call = { gatedCallId };
  const signals = receiveSignals();
  // A call is cancelled at its row. Cancelling the workflow instead must not leave the call without one.
  await CancellationScope.nonCancellable(async () => {
    if (pending !== undefined) {
      await waitForResolution(signals, { ...pending, waitMs: pending.deadlineMs - Date.now() });
    }
    const claimed = await claim(call, signals);
    if (claimed !== undefined) await execute(call, claimed);
  });
}

/** A resolution, then a decision, then the claim. Undefined when the call ended without one. */
async function claim(call: GatedCallRef, signals: Signals): Promise<Claimed | undefined> {
  for (;;) {
    if (!(await isGranted(call, signals))) return undefined;
    const decided = await decision(call, signals);
    if (decided.kind === 'claimed') return decided;
    if (decided.kind === 'ended') return undefined;
    // The policy wants one more approval: the next generation waits for its own resolution.
  }
}

/** Waits until the access request of this generation is granted. False when the call ended instead. */
async function isGranted(call: GatedCallRef, signals: Signals): Promise<boolean> {
  for (;;) {
    setCurrentDetails('reading the resolution');
    const resolution = await unlessFailed(idempotent.readResolution(call));
    if (resolution?.kind === 'open') await waitForResolution(signals, resolution);
    else if (resolution === undefined) await signals.waitAtMost(AFTER_FAILURE_MS);
    else return resolution.kind === 'granted';
    await handOverWhenLong(call);
  }
}

function waitForResolution(signals: Signals, { generation, waitMs }: { generation: number; waitMs: number }) {
  setCurrentDetails(`waiting for a resolution, generation ${generation}`);
  return signals.waitAtMost(waitMs);
}

/** Waits until the policy has decided on the approved call, and the claim was made where it allows it. */
async function decision(call: GatedCallRef, signals: Signals) {
  for (;;) {
    setCurrentDetails('approved, asking policy');
    const decided = await unlessFailed(idempotent.decideAndClaim(call));
    if (decided?.kind === 'input_required') setCurrentDetails("waiting for the requester's input");
    else if (decided !== undefined && decided.kind !== 'retry') return decided;
    await signals.waitAtMost(decided?.waitMs ?? AFTER_FAILURE_MS);
    await handOverWhenLong(call);
  }
}

/** Calls the tool once and settles the call. How far the attempt got is in the database, not in how it ended. */
async function execute(call: GatedCallRef, { executionTimeoutMs }: Claimed): Promise<void> {
  let next: Awaited<ReturnType<ActivityPorts['settle']>> = { kind: 'invoke' };
  for (;;) {
    if (next.kind === 'invoke') {
      setCurrentDetails('calling the tool');
      await unlessFailed(once(executionTimeoutMs).invokeTool(call));
    }
    setCurrentDetails('waiting for the outcome of the tool call');
    next = (await unlessFailed(idempotent.settle(call))) ?? { kind: 'retry', waitMs: AFTER_FAILURE_MS };
    if (next.kind === 'ended') return;
    await sleep(next.kind === 'retry' ? next.waitMs : '1 second');
    await handOverWhenLong(call);
  }
}

/** What a step answered, or undefined when it failed: that says nothing of the row. */
async function unlessFailed<T>(step: Promise<T>): Promise<T | undefined> {
  try {
    return await step;
  } catch (error) {
    if (!(error instanceof TemporalFailure)) throw error;
    return undefined;
  }
}

/** Another run begins where the row says. */
async function handOverWhenLong(call: GatedCallRef): Promise<void> {
  const { continueAsNewSuggested, historyLength } = workflowInfo();
  if (historyLength >= EVENTS_PER_RUN || continueAsNewSuggested) await continueAsNew<typeof gatedCallWorkflow>(call);
}

interface Signals {
  /** Resolves after the given milliseconds, or earlier when a signal came since the last wait. */
  waitAtMost(ms: number): Promise<void>;
}

/** Receives signals from now on. Call it before anything else in the workflow. A flood of signals causes no flood of steps. */
function receiveSignals(): Signals {
  let isSignalled = false;
  let inARow = 0;
  setHandler(changedSignal, () => {
    isSignalled = true;
  });
  return {
    async waitAtMost(ms) {
      const pauseMs = inARow < SIGNALS_AT_ONCE ? 0 : Math.min(ms, FLOOD_PAUSE_MS);
      if (pauseMs > 0) await sleep(pauseMs);
      const wasSignalled = isSignalled || (ms > pauseMs && (await condition(() => isSignalled, ms - pauseMs)));
      inARow = wasSignalled ? inARow + 1 : 0;
      isSignalled = false;
    },
  };
}
