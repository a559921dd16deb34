import type { Logger } from 'pino';
import type { Timing } from '../apps/shared/limits.ts';
import type { Ended, GatedCallRef } from '../workflows/activity-ports.ts';
import { isSealBroken, isSealingKeyMissing } from '../workflows/domain/errors.ts';
import { pauseMs } from '../workflows/domain/gated-call/deadlines.ts';
import { isTerminal } from '../workflows/domain/gated-call/gated-call.ts';
import type { SubmissionSettings } from '../workflows/domain/gated-call/submission.ts';
import type {
  AccessRequestService,
  EnsureSubmitted,
  PolicyDecisionPoint,
  RequestForms,
} from '../workflows/domain/ports.ts';
import type { Accepted } from '../workflows/domain/tools/accepted-descriptions.ts';
import type { RequirementChecks } from '../workflows/domain/tools/requirements.ts';
import type { Upstreams } from '../workflows/domain/upstream-ports.ts';
import type { LifecycleStore } from './stores/lifecycle.store.ts';
import type { CallProgress, StoredCall } from './stores/stored-call.ts';

/** Notices a database that lost rows, as far as the engine remembers them. */
export interface RestoreWatch {
  /** Whether database and engine were compared since the database last answered, and neither is behind the other. */
  isCompared(): boolean;
  /** Whether the engine remembers, in another run than this one, that the call was sent or had ended. */
  contradicts(gatedCallId: string): Promise<boolean>;
  /** The engine was further with this call than its row is: nothing is executed until an operator has reconciled both. */
  report(gatedCallId: string): Promise<void>;
}

/** The connections of the activities. Durations in milliseconds. */
export interface ActivityDeps extends Timing {
  readonly store: LifecycleStore;
  readonly pdp: Pick<PolicyDecisionPoint, 'evaluate'>;
  readonly accessRequests: AccessRequestService;
  readonly requestForms: RequestForms;
  readonly ensureSubmitted: EnsureSubmitted;
  readonly upstreams: Upstreams;
  readonly acceptedTools: Accepted;
  readonly requirements: RequirementChecks;
  /** Whether the clocks that approvals and deadlines rest on are near enough to each other for a new claim. */
  readonly clocksAgree: () => boolean;
  readonly restores: RestoreWatch;
  readonly log: Logger;
  readonly settings: SubmissionSettings & {
    readonly executionTimeoutMs: number;
    readonly maxGenerations: number;
    /** How many approved calls may be on their way from the decision to the permit at once, in this process. */
    readonly claimsAtOnce: number;
    /** For a tool, by its public name: the tool of the same upstream that tells the outcome of an execution. */
    readonly outcomeProbes: Readonly<Record<string, string>>;
  };
}

/** Tells the operator that a call waits for a sealing key which this process does not have. */
export function alarmMissingKey(log: Logger, gatedCallId: string, error: unknown): void {
  log.error(
    { gatedCall: gatedCallId, alarm: 'sealing_key_missing', err: error },
    'a gated call waits for a sealing key',
  );
}

interface CallStep<Answer> {
  /** The answer that follows from the row alone. Undefined: the step needs the content of the call. */
  readonly known: (call: CallProgress & Pick<Partial<StoredCall>, 'handle'>) => Promise<Answer | Ended | undefined>;
  readonly take: (call: StoredCall) => Promise<Answer | Ended>;
  readonly later: (call: CallProgress, waitMs: number) => Answer;
}

/**
 * The rules of each step on the way to the claim. A call whose sealed parts were tampered with, or swapped with another's, is
 * denied, and affects no other call. A call that is sealed under a key which this process does not have may be in the middle of
 * a change of keys: it waits, up to its deadline. `ended` is answered for an ended row only.
 */
export function createCallStep<Answer extends { readonly kind: string }>(
  { store, restores, log }: ActivityDeps,
  { known, take, later }: CallStep<Answer>,
): (call: GatedCallRef) => Promise<Answer | Ended> {
  async function attempt(gatedCallId: string): Promise<Answer | Ended> {
    try {
      const call = await store.load(gatedCallId);
      if (call.isFrozen && !isTerminal(call.state)) return later(call, LATER_MS);
      return (await known(call)) ?? (await take(call));
    } catch (error) {
      if (isSealingKeyMissing(error)) {
        const call = await store.progress(gatedCallId);
        const found = await known(call);
        if (found !== undefined) return found;
        alarmMissingKey(log, gatedCallId, error);
        return later(call, untilRetry(call));
      }
      if (!isSealBroken(error)) throw error;
      log.error(
        { gatedCall: gatedCallId, alarm: 'seal_broken', err: error },
        'a gated call is denied because its seal is broken',
      );
      // One that is claimed stays so: nothing can be sent without the binding, and the execution deadline says so.
      await store.end(gatedCallId, 'denied', 'binding_integrity', 'seal');
      return { kind: 'ended' };
    }
  }

  return async ({ gatedCallId }) => {
    const found = await attempt(gatedCallId);
    if (found.kind !== 'ended') return found;
    // A workflow that has ended proves that its call had. It must not end for a call that only could not be moved on.
    const call = await store.progress(gatedCallId);
    // No workflow is started before its call is submitted: the row is older than the workflow.
    if (call.state === 'preparing') await restores.report(gatedCallId);
    return isTerminal(call.state) ? found : later(call, LATER_MS);
  };
}

type Waiting = Pick<CallProgress, 'inStateMs' | 'remainingMs'>;

/** A decision that was put off is asked for again after a pause between these, in milliseconds. */
const RETRY_MIN_MS = 500;
const RETRY_MAX_MS = 60_000;

/**
 * Milliseconds to wait: as long again as the call has been in its state, within the limits, and at least as long as the other
 * side asked for; never past the deadline of the state, which then has to be carried out.
 */
export function waitWithin(
  call: Waiting,
  { minMs, maxMs, askedMs }: { minMs: number; maxMs: number; askedMs?: number | undefined },
): number {
  return pauseMs({
    ...{ attempt: 1, minMs: Math.max(minMs, call.inStateMs), maxMs, askedMs },
    remainingMs: Math.max(call.remainingMs, 0) + 1,
    random: Math.random(),
  });
}

/** Until the deadline of the state, unless a signal comes earlier. */
export const untilDeadline = (call: Waiting): number => waitWithin(call, { minMs: Infinity, maxMs: Infinity });

/** Before the next attempt to get a decision. Never past the approval: when that ends, so does the waiting. */
export const untilRetry = (call: Waiting, askedMs?: number): number =>
  waitWithin(call, { minMs: RETRY_MIN_MS, maxMs: RETRY_MAX_MS, askedMs });

/** Where the call cannot be moved on although a deadline may have passed: while the database is frozen, mostly. */
export const LATER_MS = 5_000;
