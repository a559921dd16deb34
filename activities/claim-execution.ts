import type { ActivityPorts, Claimed, Ended, Wait } from '../workflows/activity-ports.ts';
import type { ActivityDeps } from './deps.ts';
import { createKeepWhatIsKnown } from './keep-statement.ts';
import { createReEvaluate, putOff } from './re-evaluate.ts';
import { createReadResolution } from './read-resolution.ts';
import { isSealBroken, isSealingKeyMissing } from '../workflows/domain/errors.ts';
import { claimIdOf } from '../workflows/domain/gated-call/claim-id.ts';
import { isTerminal } from '../workflows/domain/gated-call/gated-call.ts';
import { sha256 } from '../apps/shared/sha256.ts';
import type { CallProgress, StoredCall } from './stores/stored-call.ts';
import { LATER, waitForWord } from './wait.ts';

/**
 * Takes the one irrevocable right to execute: once the access request is granted, and for a decision that was asked for
 * just now. Cancel and expiry compete for the same row and exactly one wins. A call whose sealed parts were tampered with,
 * or swapped with another's, is denied; it takes no other call with it. One that is sealed under a key which this process
 * does not have cannot be told from one in the middle of a change of keys: it waits, up to its deadline.
 */
export function createClaimExecution(deps: ActivityDeps): ActivityPorts['claimExecution'] {
  const { store, restores, log } = deps;
  const goOn = createGoOn(deps);

  async function step(gatedCallId: string): Promise<Claimed | Wait | Ended> {
    try {
      return await goOn(await store.load(gatedCallId));
    } catch (error) {
      if (isSealingKeyMissing(error)) {
        log.error(
          { gatedCall: gatedCallId, alarm: 'sealing_key_missing', err: error },
          'a gated call waits for a sealing key',
        );
        const call = await store.progress(gatedCallId);
        return (await withoutItsContent(deps, call)) ?? putOff(call);
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
    const found = await step(gatedCallId);
    if (found.kind !== 'ended') return found;
    // A workflow that has ended proves that its call had. It does not end for a call that only could not be moved on.
    const { state } = await store.progress(gatedCallId);
    // No workflow is started before its call is submitted: the row is older than the workflow.
    if (state === 'preparing') await restores.report(gatedCallId);
    return isTerminal(state) ? found : LATER;
  };
}

/** From where the call is to the claim, or to what it has to wait for. */
function createGoOn(deps: ActivityDeps) {
  const readResolution = createReadResolution(deps);
  const claim = createClaim(deps);
  const keepWhatIsKnown = createKeepWhatIsKnown(deps);

  return async (call: StoredCall): Promise<Claimed | Wait | Ended> => {
    if (call.isFrozen && !isTerminal(call.state)) return LATER;
    if (call.state === 'pending' && call.remainingMs <= 0) await keepWhatIsKnown(call);
    const found = await withoutItsContent(deps, call);
    if (found !== undefined) return found;
    if (call.state === 'granted') return claim(call);
    // Word comes with the last answer of the owner.
    if (call.state === 'input_required') return waitForWord(call);
    const resolution = await readResolution(call);
    return resolution.kind === 'granted' ? claim({ ...call, approval: resolution.approval }) : resolution;
  };
}

/** What is to be done with a call whatever it consists of; undefined when that has to be known. */
async function withoutItsContent({ store }: ActivityDeps, call: CallProgress): Promise<Claimed | Ended | undefined> {
  if (call.state === 'claimed') return { kind: 'claimed', executionTimeoutMs: Math.max(call.remainingMs, 1_000) };
  if (!['pending', 'input_required', 'granted'].includes(call.state)) return { kind: 'ended' };
  if (call.remainingMs > 0) return undefined;
  await store.expire(call.gatedCallId);
  return { kind: 'ended' };
}

/** Exchanges a fresh "allow" for the claim. */
function createClaim(deps: ActivityDeps) {
  const { store, settings, clocksAgree, restores, log } = deps;
  const reEvaluate = createReEvaluate(deps);

  return async (call: StoredCall): Promise<Claimed | Wait | Ended> => {
    const { gatedCallId, generation, epoch, approval } = call;
    if (approval === undefined) return { kind: 'ended' };
    if (!clocksAgree()) {
      log.warn(
        { gatedCall: gatedCallId },
        'a claim is put off: the clocks are too far apart, or were not compared yet',
      );
      return putOff(call);
    }
    if (!restores.isCompared()) return LATER;
    if (call.mayBeCopied && (await restores.contradicts(gatedCallId))) {
      await restores.report(gatedCallId);
      return LATER;
    }
    const answer = await reEvaluate({ ...call, approval });
    if (answer.kind !== 'allowed') return answer;
    const { executionTimeoutMs } = settings;
    const claimId = claimIdOf(gatedCallId, generation, sha256);
    const { decisionId } = answer;
    const outcome = await store.claim({ gatedCallId, generation, decisionId, claimId, epoch, executionTimeoutMs });
    if (outcome === 'won' || outcome === 'mine') return { kind: 'claimed', executionTimeoutMs };
    if (outcome === 'stale' || outcome === 'frozen') return putOff(call);
    // Lost to a deadline means that the deadline has to be carried out.
    await store.expire(gatedCallId);
    return { kind: 'ended' };
  };
}
