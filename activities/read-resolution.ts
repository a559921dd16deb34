import { inLogScope } from '../apps/shared/log-scope.ts';
import type { ActivityPorts, Ended, Granted, StillOpen } from '../workflows/activity-ports.ts';
import type { RecordedStatement } from '../workflows/domain/access-request/statement.ts';
import { CountersignError, isSealBroken, isSealingKeyMissing } from '../workflows/domain/errors.ts';
import type { EndReason } from '../workflows/domain/gated-call/gated-call.ts';
import type { ResolutionStatus } from '../workflows/domain/ports.ts';
import { type ActivityDeps, alarmMissingKey, createCallStep, untilDeadline, waitWithin } from './step.ts';
import type { createDuePolls } from './stores/due-calls.ts';
import type { CallProgress, StoredCall } from './stores/stored-call.ts';

/** After a status that could not be read though there was a reason to ask. */
const UNKNOWN_MS = 10_000;

/** How each end of an access request ends the gated call. @see SEP-2848, Lifecycle table */
const ENDS = {
  denied: { to: 'denied', reason: 'resolution_denied' },
  expired: { to: 'denied', reason: 'request_expired' },
  cancelled: { to: 'cancelled', reason: 'request_cancelled' },
  failed: { to: 'failed', reason: 'resolution_failed' },
} as const satisfies Record<string, { to: 'denied' | 'cancelled' | 'failed'; reason: EndReason }>;

const GRANTED: Granted = { kind: 'granted' };
const ENDED: Ended = { kind: 'ended' };
const open = ({ generation }: CallProgress, waitMs: number): StillOpen => ({ kind: 'open', generation, waitMs });
const isPastGrant = ({ state }: CallProgress) => ['granted', 'input_required', 'claimed'].includes(state);

/** Asks the access request service how the request of a pending call stands, and moves the call on by the answer. */
export function createReadResolution(deps: ActivityDeps): ActivityPorts['readResolution'] {
  const { store } = deps;
  return createCallStep<Granted | StillOpen>(deps, {
    later: (call, waitMs) => (isPastGrant(call) ? GRANTED : open(call, waitMs)),

    async known(call) {
      if (isPastGrant(call)) return GRANTED;
      if (call.state !== 'pending') return ENDED;
      if (call.remainingMs > 0) return undefined;
      await keepVotesUntilDeadline(deps, call);
      await store.expire(call.gatedCallId);
      return ENDED;
    },

    async take(call): Promise<Granted | StillOpen | Ended> {
      const { gatedCallId, generation } = call;
      const status = await requestStatus(deps, call);
      if (status.kind === 'pending') return open(call, untilDeadline(call));
      if (status.kind === 'unknown') return open(call, waitWithin(call, { minMs: UNKNOWN_MS, maxMs: UNKNOWN_MS }));
      const statement = await keepStatement(deps, call, status);
      if (status.kind === 'granted') {
        const state = await store.grant(gatedCallId, generation, status.approval);
        return state === 'granted' ? GRANTED : ENDED;
      }
      const { to, reason } = ENDS[status.kind === 'denied' && isWithoutDenial(statement) ? 'expired' : status.kind];
      await store.end(gatedCallId, to, reason, 'resolution');
      return ENDED;
    },
  });
}

/** How the access request of a call stands; `unknown` when it cannot be read now. */
type RequestStatus = ResolutionStatus | { readonly kind: 'unknown' };

/** Asks the authoritative source how the access request of a call stands. Submits the request that is not there yet. */
async function requestStatus(
  deps: Pick<ActivityDeps, 'accessRequests' | 'ensureSubmitted' | 'log'>,
  { gatedCallId, handle }: Pick<StoredCall, 'gatedCallId' | 'handle'>,
): Promise<RequestStatus> {
  try {
    if (handle !== undefined) return await deps.accessRequests.read(handle);
    await deps.ensureSubmitted({ gatedCallId });
    return { kind: 'pending' };
  } catch (error) {
    if (isSealBroken(error) || !(error instanceof CountersignError)) throw error;
    deps.log.warn({ gatedCall: gatedCallId, code: error.code }, 'the status of an access request could not be read');
    return { kind: 'unknown' };
  }
}

type Resolving = Pick<StoredCall, 'gatedCallId' | 'generation'> & Partial<Pick<StoredCall, 'handle'>>;

/**
 * Keeps who resolved the access request of a call, as its service states it, before the call is moved on: the record of the call
 * takes it in when it is written, and the service forgets. No decision rests on it, so a call never fails for it.
 */
async function keepStatement(
  { store, accessRequests, log }: ActivityDeps,
  { gatedCallId, generation, handle }: Resolving,
  status: ResolutionStatus,
): Promise<RecordedStatement | undefined> {
  const statement = handle && (await accessRequests.stated(handle, status));
  if (statement === undefined) return undefined;
  if (statement.kind === 'unreadable') {
    log.error(
      { gatedCall: gatedCallId, generation, alarm: 'statement_unreadable' },
      'the statement of the access request service about who resolved a request cannot be read, and the record says so',
    );
  }
  await store.keepStatement(gatedCallId, generation, statement);
  return statement;
}

/** The time of a stage was over: the service ended the request, and no one had denied it. */
const isWithoutDenial = (statement: RecordedStatement | undefined): boolean =>
  statement?.kind === 'stated' && !statement.votes.some(({ verdict }) => verdict === 'deny');

/**
 * Keeps the votes that were cast until a deadline, for the record alone. Another process may carry the deadline out first; the
 * record then goes without them.
 */
async function keepVotesUntilDeadline(deps: ActivityDeps, call: Resolving): Promise<void> {
  if (call.handle === undefined) return;
  try {
    await keepStatement(deps, call, await deps.accessRequests.read(call.handle));
  } catch (error) {
    if (!(error instanceof CountersignError)) throw error;
    deps.log.warn({ gatedCall: call.gatedCallId, code: error.code }, 'the votes before its deadline could not be read');
  }
}

type PollDeps = Pick<ActivityDeps, 'accessRequests' | 'ensureSubmitted' | 'log'> & {
  readonly store: Pick<ActivityDeps['store'], 'load'>;
  readonly duePolls: Pick<ReturnType<typeof createDuePolls>, 'deferPoll' | 'enqueueSignal'>;
};

/**
 * Asks whether an access request was resolved without a notice to this side, and signals the workflow if so. Moves nothing by
 * itself: the workflow reads the resolution again.
 */
export function createPollResolution(deps: PollDeps): (gatedCallId: string) => Promise<void> {
  const { store, duePolls, log } = deps;

  async function poll(gatedCallId: string): Promise<RequestStatus | { readonly kind: 'seal_broken' }> {
    try {
      return await requestStatus(deps, await store.load(gatedCallId));
    } catch (error) {
      // The workflow denies such a call, and raises the alarm.
      if (isSealBroken(error)) return { kind: 'seal_broken' };
      if (!isSealingKeyMissing(error)) throw error;
      alarmMissingKey(log, gatedCallId, error);
      return { kind: 'unknown' };
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
