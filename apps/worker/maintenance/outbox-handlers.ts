import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import { awaitsNobody, isTerminal, type GatedCallState } from '../../../workflows/domain/gated-call/gated-call.ts';
import type { AccessRequestHandle } from '../../../workflows/domain/gated-call/submission.ts';
import type { AccessRequestService } from '../../../workflows/domain/ports.ts';
import { inLogScope } from '../../shared/log-scope.ts';
import type { GatedCallWorkflows } from '../../shared/temporal/gated-call-workflows.ts';

/** How far a gated call has come, and the submission of its current generation, with its handle once it has one. */
export interface CallReader {
  progress(gatedCallId: string): Promise<{ state: GatedCallState }>;
  load(gatedCallId: string): Promise<{ handle: AccessRequestHandle | undefined }>;
  readSubmission(gatedCallId: string): Promise<{ endpoint: string; idempotencyKey: string; body: string }>;
  /** Whether nothing is left of the call: it was forgotten, or its row was deleted. */
  isGone(gatedCallId: string): Promise<boolean>;
}

/** Calls poked last that are remembered: far more than a worker pokes until a call that goes nowhere comes to it again. */
const REMEMBERED_POKES = 50_000;

type Handler = (gatedCallId: string) => Promise<void>;

interface HandlerDeps {
  readonly workflows: Pick<GatedCallWorkflows, 'start' | 'poke' | 'rouse'>;
  readonly calls: CallReader;
  readonly accessRequests: AccessRequestService;
  readonly log: Logger;
}

type Handlers = Record<'start_workflow' | 'poke_workflow' | 'cancel_access_request', Handler>;

/** What each kind of outbox entry does. Every one may be repeated; one whose call is gone is done when it fails. */
export function outboxHandlers(deps: HandlerDeps): Handlers {
  const { start_workflow, poke_workflow, cancel_access_request } = handlersOf(deps);
  return {
    start_workflow: doneOnceGone(deps, 'start_workflow', start_workflow),
    poke_workflow: doneOnceGone(deps, 'poke_workflow', poke_workflow),
    cancel_access_request: doneOnceGone(deps, 'cancel_access_request', cancel_access_request),
  };
}

/**
 * An entry that cannot be handled and whose call is gone never can be: it is dropped. Looked at after a failure only, so
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

function handlersOf(deps: Omit<HandlerDeps, 'log'>): Handlers {
  // By size: with `max` it would take the memory of all of them at once.
  const poked = new LRUCache<string, true>({ maxSize: REMEMBERED_POKES, sizeCalculation: () => 1 });
  return {
    async start_workflow(id) {
      // Delivered late, it must leave no workflow to rest for a call that can go on, or that is over.
      const { state } = await deps.calls.progress(id);
      if (isTerminal(state)) return;
      await (awaitsNobody(state) ? deps.workflows.poke(id) : deps.workflows.start(id));
    },
    async poke_workflow(id) {
      await deps.workflows.poke(id);
      // One that waits for its resolution and cannot go on has no other who would notice: its call is poked again every minute, by
      // some worker. A call that goes on needs one poke, and costs the engine no more than that.
      if (poked.has(id)) await deps.workflows.rouse(id);
      poked.set(id, true);
    },
    async cancel_access_request(id) {
      const { handle } = await deps.calls.load(id);
      try {
        // Without a handle nobody knows whether the request exists. The same key and body tell, and open nothing twice.
        await deps.accessRequests.cancel(
          handle ?? (await deps.accessRequests.submit(await deps.calls.readSubmission(id))),
        );
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
