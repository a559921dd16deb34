import { CancellationScope, continueAsNew } from '@temporalio/workflow';
import type { AccessRequestRef } from './access-request-steps.ts';
import { consulting, idempotent } from './activity-proxies.ts';
import { AFTER_FAILURE_MS, isLong, listenForPokes, unlessFailed } from './patience.ts';

/**
 * The life of one open access request: what its resolvers are asked, its reminders, the ends of its stages, and its own. The row in the database is the
 * truth; this waits for what is next. It ends when the row says that the request is over, and for no other reason.
 */
export async function accessRequestWorkflow(request: AccessRequestRef): Promise<void> {
  const bell = listenForPokes();
  // A request is cancelled at its row. Whoever cancels the workflow instead must not leave the request without one.
  await CancellationScope.nonCancellable(async () => {
    for (;;) {
      const found = await unlessFailed(idempotent.advanceAccessRequest(request));
      if (found?.kind === 'ended') return;
      if (found?.kind === 'consult' && (await unlessFailed(consulting.consultResolver(request)))) continue;
      await bell.waitAtMost(found?.kind === 'wait' ? found.waitMs : AFTER_FAILURE_MS);
      if (isLong()) await continueAsNew<typeof accessRequestWorkflow>(request);
    }
  });
}
