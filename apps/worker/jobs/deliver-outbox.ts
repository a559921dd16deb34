import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { AccessRequestHandle } from '../../../workflows/domain/gated-call/submission.ts';
import type { AccessRequestService } from '../../../workflows/domain/ports.ts';
import { inLogScope } from '../../shared/log-scope.ts';
import type { GatedCallWorkflows } from '../../shared/temporal/gated-call-workflows.ts';
import { reportStuck, startWorkflow, type StartedCall } from './restart-lost.ts';

interface StoredProgress extends Pick<StartedCall, 'state' | 'generation'> {
  /** Milliseconds until the deadline of its state, and when that was read, both by the database's clock. */
  readonly remainingMs: number;
  readonly readAt: { readonly databaseMs: number };
}

/** How far a gated call has come, and the submission of its current generation, with its handle once it has one. */
export interface CallReader {
  progress(gatedCallId: string): Promise<StoredProgress>;
  load(gatedCallId: string): Promise<{ handle: AccessRequestHandle | undefined }>;
  readSubmission(gatedCallId: string): Promise<{ endpoint: string; idempotencyKey: string; body: string }>;
  /** Whether nothing is left of the call: it was forgotten, or its row was deleted. */
  isGone(gatedCallId: string): Promise<boolean>;
}

/** Calls signalled last that are remembered: far more than a worker signals until a call that goes nowhere comes to it again. */
const REMEMBERED_SIGNALS = 50_000;

type Handler = (gatedCallId: string) => Promise<void>;

interface HandlerDeps {
  readonly workflows: Pick<GatedCallWorkflows, 'start' | 'signal' | 'activity'>;
  readonly calls: CallReader;
  readonly accessRequests: AccessRequestService;
  readonly log: Logger;
}

type Handlers = Record<'start_workflow' | 'signal_workflow' | 'cancel_access_request', Handler>;

/** What each kind of outbox entry does. Every one may be repeated; one whose call is gone is done when it fails. */
export function outboxHandlers(deps: HandlerDeps): Handlers {
  const { start_workflow, signal_workflow, cancel_access_request } = handlersOf(deps);
  return {
    start_workflow: doneOnceGone(deps, 'start_workflow', start_workflow),
    signal_workflow: doneOnceGone(deps, 'signal_workflow', signal_workflow),
    cancel_access_request: doneOnceGone(deps, 'cancel_access_request', cancel_access_request),
  };
}

/**
 * An entry that cannot be handled and whose call is gone never can be: it is dropped. Checked after a failure only, so
 * that an entry costs no more for it, and a call that goes in the middle of its handling counts, too.
 */
function doneOnceGone({ calls, log }: HandlerDeps, kind: keyof Handlers, handle: Handler): Handler {
  return async (id) => {
    try {
      await inLogScope({ gatedCall: id }, () => handle(id));
    } catch (error) {
      // Where that cannot be told now either, what the entry failed of stays the failure.
      if (!(await calls.isGone(id).catch(() => false))) throw error;
      log.warn({ gatedCall: id, kind, err: error }, 'an outbox entry is dropped: its call is gone');
    }
  };
}

function handlersOf({ workflows, calls, accessRequests, log }: HandlerDeps): Handlers {
  // By size: with `max` it would take the memory of all of them at once.
  const signalled = new LRUCache<string, true>({ maxSize: REMEMBERED_SIGNALS, sizeCalculation: () => 1 });
  return {
    async start_workflow(id) {
      // It may be delivered late: the call may have gone on since, or be over.
      const { state, generation, remainingMs, readAt } = await calls.progress(id);
      await startWorkflow(workflows, { id, state, generation, deadlineMs: readAt.databaseMs + remainingMs });
    },
    async signal_workflow(id) {
      // A stuck workflow of a pending call shows here only: a worker signals it again every minute. A call that goes on needs one
      // signal, and costs the engine no more than that.
      if (signalled.has(id) && (await workflows.activity(id)) === 'stuck') reportStuck(log, id);
      await workflows.signal(id);
      signalled.set(id, true);
    },
    async cancel_access_request(id) {
      const { handle } = await calls.load(id);
      try {
        // Without a handle nobody knows whether the request exists. The same key and body tell, and open nothing twice.
        await accessRequests.cancel(handle ?? (await accessRequests.submit(await calls.readSubmission(id))));
      } catch (error) {
        // Refused for good: there is no request, and there will be none.
        if (!(error instanceof CountersignError) || error.retryable) throw error;
      }
    },
  };
}

/** Obligations of denials that nobody has taken yet. They are no matter of a gated call: there may be none behind them. */
export const obligationHandlers = ({ deliverObligation }: { deliverObligation: (id: string) => Promise<void> }) => ({
  deliver_obligation: deliverObligation,
});
