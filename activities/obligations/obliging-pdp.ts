import type { Pool } from 'pg';
import type { Logger } from 'pino';
import type { Timing } from '../../apps/shared/limits.ts';
import type { Seals } from '../../workflows/domain/gated-call/sealing.ts';
import type { PolicyDecisionPoint } from '../../workflows/domain/ports.ts';
import { createObligationReceivers, type ReceiverSettings, type ObligationReceivers } from './receivers.ts';
import { createPolicyDecisionPoint, type PdpOptions } from '../clients/pdp/client.ts';
import { createOblige, type ObligeDeps } from './oblige.ts';
import { createObligationQueue, type ObligationQueue } from '../stores/obligation-queue.ts';

export interface ObligingPdpOptions extends Omit<PdpOptions, 'oblige'>, Timing {
  readonly pool: Pool;
  readonly seals: Seals;
  readonly obligations: ReceiverSettings & ObligeDeps['settings'];
}

/** The policy decision point with its obligations carried out, and what delivers those that are queued, by their ids. */
export function createObligingPdp({ pool, seals, obligations: settings, ...options }: ObligingPdpOptions): {
  readonly pdp: PolicyDecisionPoint;
  readonly deliverObligation: (id: string) => Promise<void>;
} {
  const { log } = options;
  const receivers = createObligationReceivers(settings, options);
  const queue = createObligationQueue(pool, seals);
  return {
    pdp: createPolicyDecisionPoint({ ...options, oblige: createOblige({ receivers, queue, log, settings }) }),
    deliverObligation: (id) => deliver({ receivers, queue, log }, id),
  };
}

/** After a day without a receiver that takes it, an obligation is given up. */
const GIVE_UP_MS = 24 * 3_600_000;

interface Delivering {
  readonly receivers: ObligationReceivers;
  readonly queue: ObligationQueue;
  readonly log: Logger;
}

/** Sends an obligation that is still queued, under the id that it has had from the start. Throws when it is to be tried again. */
async function deliver({ receivers, queue, log }: Delivering, id: string): Promise<void> {
  const found = await queue.find(id);
  if (found === undefined) return;
  const answer = await receivers.send(found.message).catch((error: unknown) => {
    if (found.waitedMs < GIVE_UP_MS) throw error;
    return 'given up' as const;
  });
  await queue.drop(id);
  const outcome = answer === 'taken' ? 'carried_out' : 'unmet';
  log.info({ audit: 'obligation', webhookId: id, outcome }, 'an obligation of a denial came to its end');
  if (outcome === 'unmet')
    log.error({ alarm: 'obligation_unmet', webhookId: id, answer }, 'an obligation was not carried out');
}
