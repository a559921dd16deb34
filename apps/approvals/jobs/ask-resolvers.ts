import type { Pool } from 'pg';
import type { Logger } from 'pino';
import { MAX_RESOLVER_SECONDS } from '../../shared/config/resolver-settings.ts';
import { startOutbox, type OutboxHandler } from '../../shared/outbox.ts';
import type { Running } from '../../shared/lifecycle.ts';
import type { Consult } from '../resolvers/consult.ts';

/** Longer than any resolver may take, with time to keep its answer. */
const LEASE_MS = (MAX_RESOLVER_SECONDS + 30) * 1_000;
const AT_ONCE = 100;

export interface AskResolversOptions {
  readonly pool: Pool;
  readonly databaseUrl: string;
  readonly consult: Consult;
  readonly log: Logger;
}

/**
 * Has automatic resolvers asked: one row for each question, written with the stage that opens. A question that a process died with, or
 * whose answer could not be kept, is asked again. A resolver that does not answer has failed, and is not.
 */
export function startAskingResolvers({ pool, databaseUrl, consult, log }: AskResolversOptions): Promise<Running> {
  const question: OutboxHandler = (subject, stopping) => {
    const [requestId = '', stage] = subject.split('/');
    return consult({ requestId, stage: Number(stage) }, stopping);
  };
  return startOutbox({
    ...{ pool, listenUrl: databaseUrl, log },
    schema: 'approvals',
    table: 'question_outbox',
    channel: 'approvals_outbox',
    handlers: { question },
    leaseMs: LEASE_MS,
    concurrency: AT_ONCE,
  });
}
