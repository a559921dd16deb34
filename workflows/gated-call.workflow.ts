import { CancellationScope, continueAsNew, sleep } from '@temporalio/workflow';
import type { ActivityPorts, Claimed, Ended, GatedCallRef } from './activity-ports.ts';
import { idempotent, once } from './activity-proxies.ts';
import { AFTER_FAILURE_MS, isLong, listenForPokes, unlessFailed, type Bell } from './patience.ts';

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
