import type { Pool } from 'pg';

/**
 * Lets minutes pass for requests and messages, as the database sees it: it moves the times of all rows into the past. Deadlines come
 * closer. Each table waits for its writers by itself, so that no two of them wait for each other.
 */
export async function letPass(pool: Pool, minutes: number): Promise<void> {
  const ago = (column: string) => `${column} = ${column} - interval '${minutes} min'`;
  const alone = (table: string, statements: string) =>
    pool.query(`BEGIN; LOCK TABLE approvals.${table} IN ACCESS EXCLUSIVE MODE; ${statements}; COMMIT`);
  await alone('alert', `UPDATE approvals.alert SET ${ago('at')}`);
  await alone('message_outbox', `UPDATE approvals.message_outbox SET ${ago('available_at')}`);
  const times = ['stage_opened_at', 'stage_ends_at', 'remind_at', 'expires_at'].map(ago).join(', ');
  await alone(
    'access_request',
    `ALTER TABLE approvals.access_request DISABLE TRIGGER USER;
     UPDATE approvals.access_request SET ${times} WHERE status = 'pending';
     ALTER TABLE approvals.access_request ENABLE TRIGGER USER`,
  );
}

/** Forgets what people have heard, as if an hour had passed, so that the messages of a test have room. */
export async function makeRoom(pool: Pool): Promise<void> {
  await pool.query('DELETE FROM approvals.alert');
}
