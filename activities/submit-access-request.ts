import { setTimeout as pause } from 'node:timers/promises';
import { addToLogScope } from '../apps/shared/log-scope.ts';
import { CountersignError } from '../workflows/domain/errors.ts';
import type { AccessRequestService, EnsureSubmitted, GatedCallView } from '../workflows/domain/ports.ts';
import { SUBMISSION_LEASE_MS, type TakenSubmission } from '../workflows/domain/gated-call/submission.ts';
import type { LifecycleStore } from './stores/lifecycle.store.ts';
import { persist } from './stores/persist.ts';

const JOIN_LIMIT_MS = 10_000;
const JOIN_LOOK_MS = 50;
/** A caller waits for this; when it is told to try again, it finds what was recorded after all. */
const ATTACH_WITHIN_MS = 5_000;

/**
 * The only submitter: the gateway calls it for new and for joined calls, and whoever finds a call without a handle may
 * call it again. Key and body come from the intent, so however often it is sent there is one access request.
 */
export function createEnsureSubmitted(deps: {
  store: Pick<LifecycleStore, 'progress' | 'takeSubmission' | 'releaseSubmission' | 'attachHandle' | 'end'>;
  accessRequests: Pick<AccessRequestService, 'submit'>;
}): EnsureSubmitted {
  const { store, accessRequests } = deps;

  async function submit(gatedCallId: string, taken: TakenSubmission): Promise<GatedCallView | undefined> {
    try {
      const handle = await accessRequests.submit(taken);
      addToLogScope({ accessRequest: handle.accessRequestId });
      const attach = () => store.attachHandle(gatedCallId, taken.generation, handle);
      const { outcome, task } = await persist(attach, ATTACH_WITHIN_MS);
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
    const giveUpAt = performance.now() + JOIN_LIMIT_MS;
    do {
      const taken = await store.takeSubmission(gatedCallId, SUBMISSION_LEASE_MS);
      if (taken !== undefined) return submit(gatedCallId, taken);
      const { state } = await store.progress(gatedCallId);
      if (state === 'failed') throw new CountersignError('ERR_NOT_REQUESTABLE', 'the request could not be opened');
      if (state === 'cancelled') throw new CountersignError('ERR_DENIAL_EXPIRED', 'the call was given up meanwhile');
      if (state !== 'preparing') return undefined;
      await pause(JOIN_LOOK_MS);
    } while (performance.now() < giveUpAt);
    throw new CountersignError(
      'ERR_ACCESS_REQUEST_SERVICE_UNAVAILABLE',
      'the request is still being opened; repeat the same call',
    );
  };
}
