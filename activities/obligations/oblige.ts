import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import type { Logger } from 'pino';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import * as z from 'zod';
import { sha256 } from '../../apps/shared/crypto.ts';
import type { Timing } from '../../apps/shared/limits.ts';
import {
  isSignedIn,
  type ObligationMessage,
  type ObligationOutcome,
  type ObligationReceiver,
  type StepUp,
} from '../../workflows/domain/authzen/obligation.ts';
import { afterObligations, type Oblige, type ObligingAnswer } from '../../workflows/domain/authzen/evaluation.ts';
import { type Json, type JsonObject, ownProperty } from '../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../workflows/domain/errors.ts';
import type { Seals } from '../../workflows/domain/gated-call/sealing.ts';
import { createPolicyDecisionPoint, type PdpOptions } from '../clients/pdp/client.ts';
import { createObligationQueue, type ObligationQueue } from '../stores/obligation-queue.ts';
import { createObligationReceivers, type ObligationReceivers, type ReceiverSettings } from './receivers.ts';

interface ObligationSettings {
  /** Values of `acr`, the weakest first. */
  readonly acrLevels: readonly string[];
  /** Messages to one receiver in a minute, counted in this process. */
  readonly maxPerMinute: number;
}

export interface ObligingPdpOptions extends Omit<PdpOptions, 'oblige'>, Timing {
  readonly pool: Pool;
  readonly seals: Seals;
  readonly obligations: ReceiverSettings & ObligationSettings;
}

/** The policy decision point with its obligations carried out, and the delivery of queued ones, by their ids. */
export function createObligingPdp({ pool, seals, obligations: settings, ...options }: ObligingPdpOptions) {
  const delivering = {
    receivers: createObligationReceivers(settings, options),
    queue: createObligationQueue(pool, seals),
    log: options.log,
  };
  return {
    pdp: createPolicyDecisionPoint({ ...options, oblige: createOblige({ ...delivering, settings }) }),
    deliverObligation: (id: string) => deliver(delivering, id),
  };
}

interface Delivering {
  readonly receivers: ObligationReceivers;
  readonly queue: ObligationQueue;
  readonly log: Logger;
}

/** After a day without a receiver that takes it, an obligation is given up. */
const GIVE_UP_MS = 24 * 3_600_000;

/** Sends an obligation that is still queued, always under the same id. Throws when it has to be tried again. */
async function deliver({ receivers, queue, log }: Delivering, id: string): Promise<void> {
  const found = await queue.find(id);
  if (found === undefined) return;
  const answer = await receivers.send(found.message).catch((error: unknown) => {
    if (found.waitedMs < GIVE_UP_MS) throw error;
    return 'given up' as const;
  });
  await queue.drop(id);
  const outcome = answer === 'taken' ? 'carried_out' : 'unmet';
  log.info({ audit: 'obligation', webhookId: id, outcome }, 'an obligation of a denial was carried out, or given up');
  if (outcome === 'unmet')
    log.error({ alarm: 'obligation_unmet', webhookId: id, answer }, 'an obligation was not carried out');
}

type Carried = ObligationOutcome['outcome'] | 'failed';

/**
 * Carries the obligations of an answer out, all at once, since their order means nothing (OBL-05). A failed one does not stop the
 * others (OBL-10). A message of a permit is sent before anything is permitted, and nothing is permitted unless its receiver takes
 * it. A message of a denial is queued first, sent once at once, and otherwise until its receiver takes it. Messages arrive at
 * least once, a repeated one with the same `webhook-id`.
 * @see AuthZEN Obligations Profile
 */
function createOblige(deps: Delivering & { readonly settings: ObligationSettings }): Oblige {
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
    // It can be carried out later.
    if (!isWithinLimit) return cannot(one, 'its receiver gets no more than `obligations.maxPerMinute`', 'failed');
    const message = { id: messageId(one.id, answer), to: one.to, body: bodyOf(one, answer) };
    return answer.decision.kind === 'allow' ? sendNow(deps, message) : queueAndSend(deps, message);
  }

  function cannot({ id, type }: ObligationInstance, cause: string, as: 'unmet' | 'failed' = 'unmet'): Carried {
    log.warn({ obligation: id, type, cause }, 'an obligation cannot be carried out');
    return as;
  }

  return async (answer) => {
    const found = readObligations(answer.obligations);
    // All of them end before the decision is made.
    const carried = await Promise.all(found.map((one) => carryOut(one, answer)));
    const outcomes = found.map(({ id, type }, index): ObligationOutcome => {
      const outcome = carried[index] ?? 'unmet';
      return { id, type, outcome: outcome === 'failed' ? 'unmet' : outcome };
    });
    const { kind, evaluationId } = answer.decision;
    log.info({ audit: 'obligations', answer: kind, evaluationId, obligations: outcomes }, 'a decision has obligations');
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

/** Only the obligation and the evaluation it belongs to: the receiver must not learn who asked for what (OBL-28). */
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
 * A permit, and an answer without an id, gets a new one each time.
 */
function messageId(obligationId: string, { decision: { kind, evaluationId } }: ObligingAnswer): string {
  if (kind === 'allow' || evaluationId === undefined) return `obl_${randomUUID()}`;
  return `obl_${sha256(JSON.stringify([evaluationId, obligationId]))}`;
}

async function sendNow({ receivers, log }: Delivering, message: ObligationMessage): Promise<Carried> {
  try {
    return (await receivers.send(message)) === 'taken' ? 'carried_out' : 'unmet';
  } catch (err) {
    log.warn({ webhookId: message.id, err }, 'the receiver of an obligation does not accept it; nothing is permitted');
    return 'failed';
  }
}

/** A message that was queued before is left to the process that queued it. */
async function queueAndSend({ receivers, queue, log }: Delivering, message: ObligationMessage): Promise<Carried> {
  const isNew = await queue.add(message);
  if (!isNew) return 'repeated';
  try {
    const answer = await receivers.send(message);
    // When this fails it is sent once more, with the same id.
    await queue
      .drop(message.id)
      .catch((err: unknown) => log.warn({ webhookId: message.id, err }, 'an obligation is sent once more'));
    return answer === 'taken' ? 'carried_out' : 'unmet';
  } catch (err) {
    log.warn({ webhookId: message.id, err }, 'the receiver of an obligation does not accept it yet; it is sent again');
    return 'queued';
  }
}

/** At most so many obligations of one answer are carried out. */
const MAX_OBLIGATIONS = 50;
const MAX_BODY_CHARACTERS = 4_000;
const MAX_PROPERTIES_CHARACTERS = 16_000;

/** A receiver may put them into a header: a line break there would add another one. */
const NO_CONTROLS = /^[^\p{Cc}\p{Zl}\p{Zp}]*$/u;
/** Line breaks and tabs aside, no control characters. */
const PLAIN_TEXT = /^(?:[^\p{Cc}]|[\n\t])*$/u;

const name = z.string().min(1).max(256).regex(NO_CONTROLS);
const instance = z.looseObject({ id: name, type: name, properties: z.record(z.string(), z.json()) });

/** One obligation of an answer, as far as this side understands it. */
export type ObligationInstance = {
  /** Empty where it cannot be read. */
  readonly id: string;
  readonly type: string;
} & ({ readonly kind: 'not_understood'; readonly cause: string } | Meaning);

type Meaning =
  | { readonly kind: 'step_up'; readonly stepUp: StepUp }
  /** `to`: the operator's receiver. `properties`: only those that the type defines; all of them for `custom`. */
  | { readonly kind: 'message'; readonly to: ObligationReceiver; readonly properties: JsonObject };

const messageTo = (to: ObligationReceiver, properties: JsonObject): Meaning => ({ kind: 'message', to, properties });

/** What the properties of an obligation mean, by its type. @see AuthZEN Obligations Profile, Registered Obligation Types */
const MEANINGS: Readonly<Record<string, z.ZodType<Meaning>>> = {
  'step-up': z
    .looseObject({ acr_value: name, amr_values: z.array(name).max(20).default([]) })
    .transform(({ acr_value: acrValue, amr_values: amrValues }) => ({
      kind: 'step_up',
      stepUp: { acrValue, amrValues },
    })),
  notification: z
    .object({
      to: name,
      body: z.string().max(MAX_BODY_CHARACTERS).regex(PLAIN_TEXT),
      topic: name.exactOptional(),
    })
    .transform((properties) => messageTo({ notification: properties.to }, properties)),
  session_termination: z
    .object({ subject: name })
    .transform((properties) => messageTo('sessionTermination', properties)),
  custom: z
    .record(z.string(), z.json())
    .refine((properties) => JSON.stringify(properties).length <= MAX_PROPERTIES_CHARACTERS)
    .transform((properties) => messageTo('custom', properties)),
};

/**
 * Reads the obligations of an answer, each by itself: an unreadable one does not affect the others. An id that occurs twice names
 * no obligation (OBL-03), so both are not understood.
 * @see AuthZEN Obligations Profile, The Obligation Object, Registered Obligation Types
 */
export function readObligations(found: readonly Json[]): readonly ObligationInstance[] {
  const ids = found.map((one) => instance.safeParse(one).data?.id);
  return found.map((one, index) => {
    const { data } = instance.safeParse(one);
    if (data === undefined) return notUnderstood({ id: '', type: '' }, 'it is malformed');
    if (index >= MAX_OBLIGATIONS) return notUnderstood(data, `there are more than ${MAX_OBLIGATIONS}`);
    if (ids.indexOf(data.id) !== ids.lastIndexOf(data.id)) return notUnderstood(data, 'its id occurs twice');
    return understood(data);
  });
}

function understood({ id, type, properties }: z.infer<typeof instance>): ObligationInstance {
  const meaning = ownProperty(MEANINGS, type);
  if (meaning === undefined) return notUnderstood({ id, type }, 'its type is not known here');
  const { data } = meaning.safeParse(properties);
  return data === undefined ? notUnderstood({ id, type }, 'its properties are malformed') : { id, type, ...data };
}

const notUnderstood = ({ id, type }: { id: string; type: string }, cause: string): ObligationInstance => ({
  ...{ id, type },
  kind: 'not_understood',
  cause,
});
