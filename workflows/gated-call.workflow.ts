import { condition, continueAsNew, ActivityFailure, setHandler, sleep, workflowInfo } from '@temporalio/workflow';
import type { Claimed, Ended, GatedCallRef, Granted } from './activity-ports.ts';
import { idempotent, once } from './activity-proxies.ts';
import { pokeSignal } from './gated-call.messages.ts';

/** The life of one gated call after its access request was submitted. The row in the database is the truth; this drives it. */
export async function gatedCallWorkflow(call: GatedCallRef): Promise<void> {
  const bell = listenForPokes();

  let step = await awaitResolution(call, bell);
  if (step.kind === 'granted') step = await claimOnceAllowed(call, bell);
  if (step.kind === 'claimed') await executeOnce(call, step);
}

async function awaitResolution(call: GatedCallRef, bell: Bell): Promise<Granted | Claimed | Ended> {
  for (let look = 1; ; look += 1) {
    const found = await idempotent.readResolution(call, look);
    if (found.kind !== 'wait') return found;
    await bell.waitAtMost(found.waitMs);
    if (workflowInfo().continueAsNewSuggested) await continueAsNew<typeof gatedCallWorkflow>(call);
  }
}

async function claimOnceAllowed(call: GatedCallRef, bell: Bell): Promise<Claimed | Ended> {
  for (let attempt = 1; ; attempt += 1) {
    const claim = await idempotent.claimExecution(call, attempt);
    if (claim.kind !== 'wait') return claim;
    await bell.waitAtMost(claim.waitMs);
    if (workflowInfo().continueAsNewSuggested) await continueAsNew<typeof gatedCallWorkflow>(call);
  }
}

async function executeOnce(call: GatedCallRef, claimed: Claimed): Promise<void> {
  for (;;) {
    try {
      await once(claimed.executionTimeoutMs).invokeTool(call);
    } catch (error) {
      // How far the attempt got is in the database, not in the failure.
      if (!(error instanceof ActivityFailure)) throw error;
    }
    let settled = await idempotent.settle(call);
    while (settled.kind === 'wait') {
      await sleep(settled.waitMs);
      settled = await idempotent.settle(call);
    }
    if (settled.kind === 'ended') return;
    await sleep('1 second');
  }
}

interface Bell {
  /** Resolves after the given milliseconds, or at once when a poke came since the last wait. */
  waitAtMost(ms: number): Promise<void>;
}

function listenForPokes(): Bell {
  let rung = false;
  setHandler(pokeSignal, () => {
    rung = true;
  });
  return {
    async waitAtMost(ms) {
      await condition(() => rung, ms);
      rung = false;
    },
  };
}
