import { condition, continueAsNew, ActivityFailure, setHandler, sleep, workflowInfo } from '@temporalio/workflow';
import type { Awaiting, Claimed, Ended, GatedCallRef } from './activity-ports.ts';
import { idempotent, once } from './activity-proxies.ts';
import { pokeSignal } from './gated-call.messages.ts';

/** The life of one gated call after its access request was submitted. The row in the database is the truth; this drives it. */
export async function gatedCallWorkflow(call: GatedCallRef): Promise<void> {
  const bell = listenForPokes();

  const step = await awaitClaim(call, bell);
  if (step.kind === 'claimed') await executeOnce(call, step);
}

/** A resolution, then a decision, then the claim: one step as far as it goes, because a decision is fresh for seconds only. */
async function awaitClaim(call: GatedCallRef, bell: Bell): Promise<Claimed | Ended> {
  let awaited: Awaiting['awaits'] = 'resolution';
  for (let look = 1; ; look += 1) {
    const found = await idempotent.claimExecution(call, look);
    if (found.kind !== 'wait') return found;
    if (found.awaits !== awaited) [awaited, look] = [found.awaits, 1];
    await bell.waitAtMost(found.waitMs);
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
