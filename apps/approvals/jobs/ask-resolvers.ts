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
 * Has automatic resolvers asked: one row for each question, written with the stage that opens. A question that a process died with, or
 * whose answer could not be kept, is asked again. A resolver that does not answer has failed, and is not.
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
