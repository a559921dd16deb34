import { inLogScope } from '../apps/shared/log-scope.ts';
import { isSealBroken, isSealingKeyMissing } from '../workflows/domain/errors.ts';
import { alarmMissingKey } from './call-step.ts';
import type { ActivityDeps } from './deps.ts';
import { createRequestStatus, type RequestStatus } from './read-resolution.ts';
import type { createDuePolls } from './stores/due-polls.ts';

type PollDeps = Pick<ActivityDeps, 'accessRequests' | 'ensureSubmitted' | 'log'> & {
  readonly store: Pick<ActivityDeps['store'], 'load'>;
  readonly duePolls: Pick<ReturnType<typeof createDuePolls>, 'deferPoll' | 'enqueueSignal'>;
};

/**
 * Asks whether an access request was resolved without a word of it coming here, and signals the workflow if so. Moves
 * nothing by itself: the workflow reads the resolution again.
 */
export function createPollResolution(deps: PollDeps): (gatedCallId: string) => Promise<void> {
  const { store, duePolls, log } = deps;
  const requestStatus = createRequestStatus(deps);

  async function poll(gatedCallId: string): Promise<RequestStatus | { readonly kind: 'seal_broken' }> {
    try {
      return await requestStatus(await store.load(gatedCallId));
    } catch (error) {
      // The workflow denies such a call, and raises the alarm.
      if (isSealBroken(error)) return { kind: 'seal_broken' };
      if (isSealingKeyMissing(error)) {
        alarmMissingKey(log, gatedCallId, error);
        return { kind: 'unknown' };
      }
      throw error;
    }
  }

  return (gatedCallId) =>
    inLogScope({ gatedCall: gatedCallId }, async () => {
      const found = await poll(gatedCallId);
      if (found.kind === 'unknown') return;
      if (found.kind !== 'pending') await duePolls.enqueueSignal(gatedCallId);
      else if (found.retryAfterMs !== undefined) await duePolls.deferPoll(gatedCallId, found.retryAfterMs);
    });
}
