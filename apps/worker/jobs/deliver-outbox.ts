import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { AccessRequestHandle } from '../../../workflows/domain/gated-call/submission.ts';
import type { AccessRequestService } from '../../../workflows/domain/ports.ts';
import { inLogScope } from '../../shared/log-scope.ts';
import type { GatedCallWorkflows } from '../../shared/temporal/gated-call-workflows.ts';
import { reportStuck, startWorkflow, type StartedCall } from './restart-lost.ts';

/** Calls that were signalled last. Far more than a worker signals before it comes to the same waiting call again. */
const REMEMBERED_SIGNALS = 50_000;

interface HandlerDeps {
  readonly workflows: Pick<GatedCallWorkflows, 'start' | 'signal' | 'activity'>;
  readonly calls: {
    /** The deadline of the call's state as the time that remains, and when that was read, both by the database's clock. */
    progress(id: string): Promise<
      Pick<StartedCall, 'state' | 'generation'> & {
        readonly remainingMs: number;
        readonly readAt: { readonly databaseMs: number };
      }
    >;
    load(id: string): Promise<{ handle: AccessRequestHandle | undefined }>;
    /** The submission of the call's current generation. */
    readSubmission(id: string): Promise<{ endpoint: string; idempotencyKey: string; body: string }>;
    /** Whether the call was forgotten or its row deleted. */
    isGone(id: string): Promise<boolean>;
  };
  readonly accessRequests: AccessRequestService;
  readonly log: Logger;
}

/** Handles the outbox entries of gated calls. Each handler may be repeated. If it fails and the call is gone, it drops the entry. */
export function outboxHandlers({ workflows, calls, accessRequests, log }: HandlerDeps) {
  // By size: with `max`, the cache would allocate memory for all entries at once.
  const signalled = new LRUCache<string, true>({ maxSize: REMEMBERED_SIGNALS, sizeCalculation: () => 1 });

  /** Checks whether the call is gone only after a failure. So entries cost no more, and a call may go while it is handled. */
  const unlessGone = (kind: string, handle: (id: string) => Promise<void>) => async (id: string) => {
    try {
      await inLogScope({ gatedCall: id }, () => handle(id));
    } catch (error) {
      // If this check fails as well, the entry has failed with its own error.
      if (!(await calls.isGone(id).catch(() => false))) throw error;
      log.warn({ gatedCall: id, kind, err: error }, 'an outbox entry is dropped: its call is gone');
    }
  };
  return {
    start_workflow: unlessGone('start_workflow', async (id) => {
      // The entry may be late: the call may have gone on or ended.
      const { state, generation, remainingMs, readAt } = await calls.progress(id);
      await startWorkflow(workflows, { id, state, generation, deadlineMs: readAt.databaseMs + remainingMs });
    }),
    signal_workflow: unlessGone('signal_workflow', async (id) => {
      // A stuck workflow of a pending call shows only here: a worker signals it again every minute. A call that goes on gets one
      // signal, and costs the engine no more than that.
      if (signalled.has(id) && (await workflows.activity(id)) === 'stuck') reportStuck(log, id);
      await workflows.signal(id);
      signalled.set(id, true);
    }),
    cancel_access_request: unlessGone('cancel_access_request', async (id) => {
      const { handle } = await calls.load(id);
      try {
        // Without a handle, the request may or may not exist. Submitting the same key and body returns its handle and opens no second one.
        await accessRequests.cancel(handle ?? (await accessRequests.submit(await calls.readSubmission(id))));
      } catch (error) {
        // A final refusal means that there is no request, and that there will be none.
        if (!(error instanceof CountersignError) || error.retryable) throw error;
      }
    }),
  };
}
