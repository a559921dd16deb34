import type { Pool } from 'pg';
import { patiently } from './wait-for.ts';

/** Waits until no work is left outside of the database, even if the database does not answer at first. */
export async function outboxesAreEmpty(database: Pool, { timeoutMs }: { timeoutMs: number }): Promise<void> {
  const text = `SELECT FROM gateway.outbox UNION ALL SELECT FROM approvals.outbox
    UNION ALL SELECT FROM approvals.question_outbox LIMIT 1`;
  await patiently(async () => (await database.query(text)).rowCount === 0, { timeoutMs, everyMs: 250 });
}
