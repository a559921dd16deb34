import type { Pool } from 'pg';

/**
 * Lets leases end three seconds after they began, whether or not their holder is alive: a submission normally has 30 s,
 * an entry of an outbox 60 s. A deliberate pause of a few seconds stays, and so does the pause of an entry that failed
 * often: otherwise it would soon have failed so often that the outbox puts it off for ten minutes.
 */
export async function shortenLeases(database: Pool): Promise<void> {
  await database.query(
    `UPDATE gateway.submission SET lease_until = clock_timestamp() WHERE access_request_key IS NULL
     AND lease_until BETWEEN clock_timestamp() AND clock_timestamp() + interval '27 s'`,
  );
  for (const schema of ['gateway', 'approvals']) {
    await database.query(
      `UPDATE ${schema}.outbox SET available_at = clock_timestamp()
       WHERE available_at BETWEEN clock_timestamp() + interval '10 s' AND clock_timestamp() + interval '57 s'
       AND attempts < 6`,
    );
  }
}
