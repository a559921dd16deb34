import { CountersignError } from '../../../workflows/domain/errors.ts';
import { awaitsNobody, isTerminal, type GatedCallState } from '../../../workflows/domain/gated-call/gated-call.ts';
import type { AccessRequestHandle } from '../../../workflows/domain/gated-call/submission.ts';
import type { AccessRequestService } from '../../../workflows/domain/ports.ts';
import type { GatedCallWorkflows } from '../../shared/temporal/gated-call-workflows.ts';

/** How far a gated call has come, and the submission of its current generation, with its handle once it has one. */
export interface CallReader {
  progress(gatedCallId: string): Promise<{ state: GatedCallState }>;
  load(gatedCallId: string): Promise<{ handle: AccessRequestHandle | undefined }>;
  readSubmission(gatedCallId: string): Promise<{ endpoint: string; idempotencyKey: string; body: string }>;
}

type Handler = (gatedCallId: string) => Promise<void>;

/** What each kind of outbox entry does. Every one may be repeated. */
export function outboxHandlers(deps: {
  workflows: Pick<GatedCallWorkflows, 'start' | 'poke'>;
  calls: CallReader;
  accessRequests: AccessRequestService;
}): Record<'start_workflow' | 'poke_workflow' | 'cancel_access_request', Handler> {
  return {
    async start_workflow(id) {
      // Delivered late, it must leave no workflow to rest for a call that can go on, or that is over.
      const { state } = await deps.calls.progress(id);
      if (isTerminal(state)) return;
      await (awaitsNobody(state) ? deps.workflows.poke(id) : deps.workflows.start(id));
    },
    poke_workflow: (id) => deps.workflows.poke(id),
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
