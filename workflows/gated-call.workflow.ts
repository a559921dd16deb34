import {
  CancellationScope,
  condition,
  continueAsNew,
  proxyActivities,
  proxyLocalActivities,
  setCurrentDetails,
  setHandler,
  sleep,
  TemporalFailure,
  workflowInfo,
} from '@temporalio/workflow';
import type { ActivityPorts, Claimed, Ended, GatedCallRef, GatedCallStart, NextGeneration } from './activity-ports.ts';
import { changedSignal } from './messages.ts';

/**
 * The life of one gated call after its access request was submitted. The row in the database is the truth; this drives it. The
 * workflow waits for days without a step: for a signal, or for its own timer. No failure of a step ends it.
 */
export async function gatedCallWorkflow({ gatedCallId, pending }: GatedCallStart): Promise<void> {
  const call = { gatedCallId };
  const signals = receiveSignals();
  // A call is cancelled at its row. Cancelling the workflow instead must not leave the call without one.
  await CancellationScope.nonCancellable(async () => {
    if (pending !== undefined)
      await waitForResolution(signals, { ...pending, waitMs: pending.deadlineMs - Date.now() });

    for (;;) {
      if ((await readResolution(call, signals)) === 'ended') return;
      const decided = await decideAndClaim(call, signals);
      if (decided.kind === 'ended') return;
      if (decided.kind === 'next_generation') continue;
      await invokeTool(call, decided);
      if ((await settle({ ...call, claimId: decided.claimId })) === 'ended') return;
    }
  });
}

/** Waits until the access request of this generation is granted, or the call has ended without a grant. */
async function readResolution(call: GatedCallRef, signals: Signals): Promise<'granted' | 'ended'> {
  for (;;) {
    setCurrentDetails('reading the resolution');
    const resolution = await unlessFailed(idempotent.readResolution(call));
    if (resolution?.kind === 'open') await waitForResolution(signals, resolution);
    else if (resolution === undefined) await signals.waitAtMost(AFTER_FAILURE_MS);
    else return resolution.kind;
    await handOverWhenLong(call);
  }
}

function waitForResolution(signals: Signals, { generation, waitMs }: { generation: number; waitMs: number }) {
  setCurrentDetails(`waiting for a resolution, generation ${generation}`);
  return signals.waitAtMost(waitMs);
}

/** Waits until policy has decided on the approved call. An "allow" has claimed the execution. */
async function decideAndClaim(call: GatedCallRef, signals: Signals): Promise<Claimed | NextGeneration | Ended> {
  for (;;) {
    setCurrentDetails('approved, asking policy');
    const decided = await unlessFailed(idempotent.decideAndClaim(call));
    if (decided?.kind === 'input_required') setCurrentDetails("waiting for the requester's input");
    else if (decided !== undefined && decided.kind !== 'retry') return decided;
    await signals.waitAtMost(decided?.waitMs ?? AFTER_FAILURE_MS);
    await handOverWhenLong(call);
  }
}

/** Tries to call the tool. How far the attempt got is in the database, not in how it ended. */
async function invokeTool(call: GatedCallRef, { executionTimeoutMs }: Claimed): Promise<void> {
  setCurrentDetails('calling the tool');
  await unlessFailed(once(executionTimeoutMs).invokeTool(call));
}

/** Waits until the outcome is recorded. `released`: provably nothing was sent, and the call is decided anew. */
async function settle(call: Parameters<ActivityPorts['settle']>[0]): Promise<'ended' | 'released'> {
  for (;;) {
    setCurrentDetails('waiting for the outcome of the tool call');
    const found = (await unlessFailed(idempotent.settle(call))) ?? { kind: 'retry', waitMs: AFTER_FAILURE_MS };
    if (found.kind === 'ended') return 'ended';
    await sleep(found.waitMs);
    await handOverWhenLong({ gatedCallId: call.gatedCallId });
    if (found.kind === 'released') return 'released';
  }
}

/**
 * Steps that may be repeated freely: each is idempotent over the row of the call. They run inside the workflow task, which
 * saves a trip through the server per step between approval and execution. A pause longer than the threshold becomes a
 * durable timer instead of a held task.
 */
const idempotent = proxyLocalActivities<Omit<ActivityPorts, 'invokeTool'>>({
  startToCloseTimeout: '1 minute',
  localRetryThreshold: '2 seconds',
  // They end after some minutes, so that a run which tries in vain for days reaches `handOverWhenLong`.
  retry: {
    initialInterval: '200 milliseconds',
    backoffCoefficient: 2,
    maximumInterval: '30 seconds',
    maximumAttempts: 15,
  },
});

/**
 * The one step with an effect outside: one attempt. The permit in the database is what holds; this only keeps the engine
 * from trying in vain. The heartbeat tells within seconds that the process died.
 */
function once(executionTimeoutMs: number) {
  return proxyActivities<Pick<ActivityPorts, 'invokeTool'>>({
    // The wait for the permit has a limit of its own, and the tool has its whole time from the permit on.
    startToCloseTimeout: 2 * executionTimeoutMs + 15_000,
    // An attempt that never begins must not hold the workflow up for ever. One that an operator paused does, until it is
    // resumed: the engine counts no limit for it. Its call ends at its deadline all the same.
    scheduleToCloseTimeout: 2 * executionTimeoutMs + 60_000,
    heartbeatTimeout: '10 seconds',
    retry: { maximumAttempts: 1 },
  });
}

/** After a step that failed for good, as far as the engine goes. The row decides, so the step is repeated. */
const AFTER_FAILURE_MS = 10_000;

/** The answer of a step, or undefined when the step failed: a failure says nothing of the row. */
async function unlessFailed<T>(step: Promise<T>): Promise<T | undefined> {
  try {
    return await step;
  } catch (error) {
    if (!(error instanceof TemporalFailure)) throw error;
    return undefined;
  }
}

/** A run hands over to the next one after so many events: far from where the engine refuses or a replay is slow. */
const EVENTS_PER_RUN = 2_000;

/** The next run begins where the row says. */
async function handOverWhenLong(call: GatedCallRef): Promise<void> {
  const { continueAsNewSuggested, historyLength } = workflowInfo();
  if (historyLength >= EVENTS_PER_RUN || continueAsNewSuggested) await continueAsNew<typeof gatedCallWorkflow>(call);
}

/** So many signals in a row each end a wait at once. After them, signals end at most one wait in every pause. */
const SIGNALS_AT_ONCE = 5;
const FLOOD_PAUSE_MS = 5_000;

type Signals = ReturnType<typeof receiveSignals>;

/** Receives signals from now on. Call it before anything else in the workflow. A flood of signals causes no flood of steps. */
function receiveSignals() {
  let isSignalled = false;
  let inARow = 0;
  setHandler(changedSignal, () => {
    isSignalled = true;
  });
  return {
    /** Resolves after the given milliseconds, or earlier when a signal came since the last wait. */
    async waitAtMost(ms: number): Promise<void> {
      const pauseMs = inARow < SIGNALS_AT_ONCE ? 0 : Math.min(ms, FLOOD_PAUSE_MS);
      if (pauseMs > 0) await sleep(pauseMs);
      const wasSignalled = isSignalled || (ms > pauseMs && (await condition(() => isSignalled, ms - pauseMs)));
      inARow = wasSignalled ? inARow + 1 : 0;
      isSignalled = false;
    },
  };
}
