import { CountersignError, isSealBroken } from '../workflows/domain/errors.ts';
import type { ResolutionStatus } from '../workflows/domain/ports.ts';
import type { ActivityDeps } from './deps.ts';
import type { StoredCall } from './stores/stored-call.ts';

/** How the access request of a call stands; `unknown` when it cannot be read now. */
export type RequestStatus = ResolutionStatus | { readonly kind: 'unknown' };

/** Asks the authoritative source how the access request of a call stands. Submits the request that is not there yet. */
export function createRequestStatus(
  deps: Pick<ActivityDeps, 'accessRequests' | 'ensureSubmitted' | 'log'>,
): (call: Pick<StoredCall, 'gatedCallId' | 'handle'>) => Promise<RequestStatus> {
  return async ({ gatedCallId, handle }) => {
    try {
      if (handle !== undefined) return await deps.accessRequests.read(handle);
      await deps.ensureSubmitted({ gatedCallId });
      return { kind: 'pending' };
    } catch (error) {
      if (isSealBroken(error) || !(error instanceof CountersignError)) throw error;
      deps.log.warn({ gatedCall: gatedCallId, code: error.code }, 'status of an access request could not be read');
      return { kind: 'unknown' };
    }
  };
}
