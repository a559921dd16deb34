import { CountersignError } from '../workflows/domain/errors.ts';
import type { ResolutionStatus } from '../workflows/domain/ports.ts';
import type { ActivityDeps } from './deps.ts';
import type { StoredCall } from './stores/stored-call.ts';

type Resolving = Pick<StoredCall, 'gatedCallId' | 'generation'> & Partial<Pick<StoredCall, 'handle'>>;

/**
 * Keeps who resolved the access request of a call, as its service states it, before the call is moved on by that: the record of
 * the call takes it in when it is written, and the service forgets. Nothing rests on it, so a call never fails for it.
 */
export function createKeepStatement({
  store,
  accessRequests,
  log,
}: Pick<ActivityDeps, 'accessRequests' | 'log'> & { readonly store: Pick<ActivityDeps['store'], 'keepStatement'> }) {
  return async ({ gatedCallId, generation, handle }: Resolving, status: ResolutionStatus): Promise<void> => {
    const statement = handle && (await accessRequests.stated(handle, status));
    if (statement === undefined) return;
    if (statement.kind === 'unreadable') {
      log.error(
        { gatedCall: gatedCallId, generation, alarm: 'statement_unreadable' },
        'the access request service states who resolved a request, and it cannot be read: the record will say so',
      );
    }
    await store.keepStatement(gatedCallId, generation, statement);
  };
}

/**
 * The same for a call whose deadline has passed: the votes until then. Whoever else carries the deadline out meanwhile waits for
 * nobody, so this is for the record alone, and whatever comes in between leaves it out.
 */
export function createKeepWhatIsKnown(deps: Parameters<typeof createKeepStatement>[0]) {
  const keepStatement = createKeepStatement(deps);
  return async (call: Resolving): Promise<void> => {
    if (call.handle === undefined) return;
    try {
      await keepStatement(call, await deps.accessRequests.read(call.handle));
    } catch (error) {
      if (!(error instanceof CountersignError)) throw error;
      deps.log.warn({ gatedCall: call.gatedCallId, code: error.code }, 'votes before a deadline could not be read');
    }
  };
}
