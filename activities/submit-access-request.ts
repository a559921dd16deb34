import type { Timing } from '../apps/shared/limits.ts';
import { addToLogScope } from '../apps/shared/log-scope.ts';
import { CountersignError } from '../workflows/domain/errors.ts';
import type { AccessRequestService, EnsureSubmitted, GatedCallView } from '../workflows/domain/ports.ts';
import type { TakenSubmission } from '../workflows/domain/gated-call/submission.ts';
import type { LifecycleStore } from './stores/lifecycle.store.ts';
import { persist } from './stores/query.ts';

const JOIN_POLL_MS = 50;

export interface SubmissionDeps extends Timing {
  readonly store: Pick<LifecycleStore, 'progress' | 'takeSubmission' | 'releaseSubmission' | 'attachHandle' | 'end'>;
  readonly accessRequests: Pick<AccessRequestService, 'submit'>;
}

/**
 * The only submitter. The gateway calls it for new and for joined calls, and a worker for a call without a handle. Key and body
 * come from the intent, so however often it is sent there is one access request.
 */
export function createEnsureSubmitted(deps: SubmissionDeps): EnsureSubmitted {
  const { store, accessRequests, clock, limits } = deps;

  async function submit(gatedCallId: string, taken: TakenSubmission): Promise<GatedCallView | undefined> {
    try {
      const handle = await accessRequests.submit(taken);
      addToLogScope({ accessRequest: handle.accessRequestId });
      const attach = () => store.attachHandle(gatedCallId, taken.generation, handle);
      const { outcome, task } = await persist(attach, limits.handleRecordingMs, clock);
      if (outcome === 'conflict') {
        throw new CountersignError(
          'ERR_SUBMISSION_CONFLICT',
          'the access request service gave two handles for one key',
        );
      }
      return task;
    } catch (error) {
      if (!(error instanceof CountersignError)) throw error;
      if (error.retryable) {
        await store.releaseSubmission(gatedCallId).catch(() => undefined);
        throw error;
      }
      await store.end(gatedCallId, 'failed', 'submission_refused', 'submission');
      // Only late: a fresh denial can be submitted.
      if (error.code === 'ERR_DENIAL_EXPIRED') throw error;
      throw new CountersignError('ERR_NOT_REQUESTABLE', error.message, { cause: error });
    }
  }

  return async ({ gatedCallId, submission }) => {
    if (submission !== undefined) return submit(gatedCallId, submission);
    const giveUpAt = clock.monotonicMs() + limits.joiningMs;
    do {
      const taken = await store.takeSubmission(gatedCallId, limits.submissionLeaseMs);
      if (taken !== undefined) return submit(gatedCallId, taken);
      const { state } = await store.progress(gatedCallId);
      if (state === 'failed') throw new CountersignError('ERR_NOT_REQUESTABLE', 'the request could not be opened');
      if (state === 'cancelled') throw new CountersignError('ERR_DENIAL_EXPIRED', 'the call was given up meanwhile');
      if (state !== 'preparing') return undefined;
      await clock.after(JOIN_POLL_MS);
    } while (clock.monotonicMs() < giveUpAt);
    throw new CountersignError(
      'ERR_ACCESS_REQUEST_SERVICE_UNAVAILABLE',
      'the request is still being opened; repeat the same call',
    );
  };
}
