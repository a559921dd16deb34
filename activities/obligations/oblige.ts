import { createHash, randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import {
  isSignedIn,
  type ObligationMessage,
  type ObligationOutcome,
} from '../../workflows/domain/authzen/obligation.ts';
import { afterObligations, type Oblige, type ObligingAnswer } from '../../workflows/domain/authzen/obligations.ts';
import { CountersignError } from '../../workflows/domain/errors.ts';
import { readObligations, type ObligationInstance } from './instances.ts';
import type { ObligationReceivers } from './receivers.ts';
import type { ObligationQueue } from '../stores/obligation-queue.ts';

export interface ObligeDeps {
  readonly receivers: ObligationReceivers;
  readonly queue: Pick<ObligationQueue, 'add' | 'drop'>;
  readonly log: Logger;
  readonly settings: {
    /** Values of `acr`, the weakest first. */
    readonly acrLevels: readonly string[];
    /** Messages to one receiver in a minute, counted in this process. */
    readonly maxPerMinute: number;
  };
}

type Carried = ObligationOutcome['outcome'] | 'failed';

/**
 * Carries the obligations of an answer out, all at once, since their order means nothing (OBL-05). One that cannot be carried out
 * keeps none of the others from it (OBL-10). A message of a permit is sent before anything is permitted, and one that is not
 * taken permits nothing; a message of a denial is queued first, sent once at once, and otherwise until it is taken.
 * Messages arrive at least once, a repeated one with the same `webhook-id`.
 * @see AuthZEN Obligations Profile
 */
export function createOblige(deps: ObligeDeps): Oblige {
  const { log, settings } = deps;
  const limiter = new RateLimiterMemory({ points: settings.maxPerMinute, duration: 60 });

  async function carryOut(one: ObligationInstance, answer: ObligingAnswer): Promise<Carried> {
    if (one.kind === 'not_understood') return cannot(one, one.cause);
    if (one.kind === 'step_up')
      return isSignedIn(answer.claims, one.stepUp, settings.acrLevels) ? 'carried_out' : 'unmet';
    const receiver = deps.receivers.known(one.to);
    if (receiver === undefined) return cannot(one, 'the configuration names no receiver for it (`obligations`)');
    const isWithinLimit = await limiter.consume(receiver).then(
      () => true,
      () => false,
    );
    // Later it can be.
    if (!isWithinLimit) return cannot(one, 'its receiver gets no more than `obligations.maxPerMinute`', 'failed');
    const message = { id: messageId(one.id, answer), to: one.to, body: bodyOf(one, answer) };
    return answer.decision.kind === 'allow' ? sendNow(deps, message) : queueAndSend(deps, message);
  }

  function cannot({ id, type }: ObligationInstance, cause: string, as: 'unmet' | 'failed' = 'unmet'): Carried {
    log.warn({ obligation: id, type, cause }, 'an obligation cannot be complied with');
    return as;
  }

  return async (answer) => {
    const found = readObligations(answer.obligations);
    // Every one comes to its end before anything is made of them.
    const carried = await Promise.all(found.map((one) => carryOut(one, answer)));
    const outcomes = found.map(({ id, type }, index): ObligationOutcome => {
      const outcome = carried[index] ?? 'unmet';
      return { id, type, outcome: outcome === 'failed' ? 'unmet' : outcome };
    });
    const { kind, evaluationId } = answer.decision;
    log.info({ audit: 'obligations', answer: kind, evaluationId, obligations: outcomes }, 'obligations of an answer');
    const missing = found.flatMap((one, index) =>
      one.kind === 'step_up' && carried[index] === 'unmet' ? [one.stepUp] : [],
    );
    const isFinal = carried.includes('unmet');
    if (kind === 'allow' && !isFinal && carried.includes('failed')) {
      throw new CountersignError(
        'ERR_OBLIGATION_UNAVAILABLE',
        'an obligation of a permit could not be carried out now',
      );
    }
    return afterObligations(answer.decision, outcomes, missing);
  };
}

/** No more than the obligation and what it belongs to: who asked for what is none of the receiver's business (OBL-28). */
function bodyOf(
  { id, type, properties }: Extract<ObligationInstance, { kind: 'message' }>,
  { decision: { kind, evaluationId } }: ObligingAnswer,
): string {
  return JSON.stringify({
    ...(evaluationId !== undefined && { evaluation_id: evaluationId }),
    decision: kind === 'allow',
    obligation: { id, type, properties },
  });
}

/**
 * Of a denial, the same for the same evaluation and obligation: however often the answer comes, it is carried out once (PRJ-29).
 * A permit, and an answer without a name, stand for themselves.
 */
function messageId(obligationId: string, { decision: { kind, evaluationId } }: ObligingAnswer): string {
  if (kind === 'allow' || evaluationId === undefined) return `obl_${randomUUID()}`;
  return `obl_${createHash('sha256')
    .update(JSON.stringify([evaluationId, obligationId]))
    .digest('hex')}`;
}

async function sendNow({ receivers, log }: ObligeDeps, message: ObligationMessage): Promise<Carried> {
  try {
    return (await receivers.send(message)) === 'taken' ? 'carried_out' : 'unmet';
  } catch (err) {
    log.warn({ webhookId: message.id, err }, 'the receiver of an obligation does not take it; nothing is permitted');
    return 'failed';
  }
}

/** Whoever finds that it was queued before leaves it to those who did. */
async function queueAndSend({ receivers, queue, log }: ObligeDeps, message: ObligationMessage): Promise<Carried> {
  const isNew = await queue.add(message);
  if (!isNew) return 'repeated';
  try {
    const answer = await receivers.send(message);
    // When this fails it is sent once more, with the same id.
    await queue
      .drop(message.id)
      .catch((err: unknown) => log.warn({ webhookId: message.id, err }, 'an obligation will be sent twice'));
    return answer === 'taken' ? 'carried_out' : 'unmet';
  } catch (err) {
    log.warn({ webhookId: message.id, err }, 'the receiver of an obligation does not take it yet; it is sent again');
    return 'queued';
  }
}
