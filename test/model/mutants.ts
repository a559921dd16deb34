import type { Rules } from './protocol.ts';

/** Protocols that differ from the product's in one rule. Each of them permits a violation. */
export const MODEL_MUTANTS = {
  'a cancelled call can be claimed': { claimIgnoresState: true },
  'a claim needs no decision': { claimIgnoresDecision: true },
  'a claim takes a decision of an earlier generation': { claimTakesAnyGeneration: true },
  'a claim does not look at the clock': { claimIgnoresClock: true },
  'a permit is given more than once': { permitIsNotSingle: true },
  'a permit is given after the execution deadline': { permitIgnoresDeadline: true },
  'a claim with a permit is given up': { releaseIgnoresPermit: true },
  'the permit is written after the call was sent': { permitFollowsTheSend: true },
  'a result is stored over an end': { settleIgnoresState: true },
  'a claimed call can be cancelled': { cancelIgnoresClaim: true },
  'the execution deadline ends a call as denied': { deadlineDenies: true },
  'the execution deadline is not carried out': { deadlineNeverFalls: true },
  'no sweeper carries out deadlines': { noSweeper: true },
  'an approval of an earlier generation grants the next one': { grantIgnoresGeneration: true },
  'a retried submission has a new key': { newKeyOnRetry: true },
  'the service is told before the generation is consumed': { contactsBeforeConsuming: true },
  'a callback is believed without a look': { callbackIsTrusted: true },
  'a denial that comes too late leaves the next request open': { lateDenialLeavesRequest: true },
} as const satisfies Record<string, Partial<Rules>>;
