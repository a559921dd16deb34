import type { Logger } from 'pino';
import type { Ended, GatedCallRef } from '../workflows/activity-ports.ts';
import { isSealBroken, isSealingKeyMissing } from '../workflows/domain/errors.ts';
import { isTerminal } from '../workflows/domain/gated-call/gated-call.ts';
import type { ActivityDeps } from './deps.ts';
import type { CallProgress, StoredCall } from './stores/stored-call.ts';
import { LATER_MS, untilRetry } from './wait.ts';

/** Tells the operator that a call waits for a sealing key which this process does not have. */
export function alarmMissingKey(log: Logger, gatedCallId: string, error: unknown): void {
  log.error(
    { gatedCall: gatedCallId, alarm: 'sealing_key_missing', err: error },
    'a gated call waits for a sealing key',
  );
}

/** A step on the way to the claim. */
export interface CallStep<Answer> {
  /** What follows from the row alone. Undefined: the step needs the content of the call. */
  readonly known: (call: CallProgress & Pick<Partial<StoredCall>, 'handle'>) => Promise<Answer | Ended | undefined>;
  readonly take: (call: StoredCall) => Promise<Answer | Ended>;
  /** Says that the call cannot be moved on now. */
  readonly later: (call: CallProgress, waitMs: number) => Answer;
}

/**
 * What holds for each step on the way to the claim. A call whose sealed parts were tampered with, or swapped with another's,
 * is denied; it takes no other call with it. One that is sealed under a key which this process does not have cannot be told
 * from one in the middle of a change of keys: it waits, up to its deadline. `ended` is answered for an ended row only.
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
    // A workflow that has ended proves that its call had. It does not end for a call that only could not be moved on.
    const call = await store.progress(gatedCallId);
    // No workflow is started before its call is submitted: the row is older than the workflow.
    if (call.state === 'preparing') await restores.report(gatedCallId);
    return isTerminal(call.state) ? found : later(call, LATER_MS);
  };
}
