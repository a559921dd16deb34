import type { Pool } from 'pg';
import type { Timing } from '../apps/shared/limits.ts';
import type { Seals } from '../workflows/domain/gated-call/sealing.ts';
import type { PolicyDecisionPoint } from '../workflows/domain/ports.ts';
import { createObligationReceivers, type ReceiverSettings } from './clients/obligation-receivers.ts';
import { createPolicyDecisionPoint, type PdpOptions } from './clients/pdp.ts';
import { createDeliverObligation } from './deliver-obligation.ts';
import { createOblige, type ObligeDeps } from './oblige.ts';
import { createObligationQueue } from './stores/obligation-queue.ts';

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
    deliverObligation: createDeliverObligation({ receivers, queue, log }),
  };
}
