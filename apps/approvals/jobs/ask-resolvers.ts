import type { Pool } from 'pg';
import type { Logger } from 'pino';
import { startOutbox, type OutboxHandler } from '../../shared/outbox.ts';
import type { Running } from '../../shared/lifecycle.ts';
import type { Timing } from '../../shared/limits.ts';
import type { Consult } from '../resolvers/resolvers.ts';

const AT_ONCE = 100;

export interface AskResolversOptions extends Timing {
  readonly pool: Pool;
  readonly databaseUrl: string;
  readonly consult: Consult;
  readonly log: Logger;
}

/**
 * Asks automatic resolvers: the opening of a stage writes one outbox row for its question. A question is repeated after a crash, or when
 * its answer could not be stored. A resolver that does not answer has failed and is not asked again.
 */
export function startAskingResolvers({ databaseUrl, consult, ...own }: AskResolversOptions): Promise<Running> {
  const question: OutboxHandler = (subject, stopping) => {
    const [requestId = '', stage] = subject.split('/');
    return consult({ requestId, stage: Number(stage) }, stopping);
  };
  return startOutbox({
    ...own,
    listenUrl: databaseUrl,
    schema: 'approvals',
    table: 'question_outbox',
    channel: 'approvals_outbox',
    handlers: { question },
    leaseMs: own.limits.questionLeaseMs,
    concurrency: AT_ONCE,
  });
}
