import type { Client, ClientConfig } from 'pg';
import { withClient } from './client.ts';

/** What is wrong with an address, as a predicate, with the next step. */
export const POOLED =
  'leads to a connection pooler that lends sessions for one transaction each; connect to PostgreSQL itself, or pool by session';

const backendOf = async (client: Client) =>
  (await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0]?.pid;

/**
 * Whether a pooler is behind this address that lends a session of the server for one transaction only. Such a pooler swallows notices, gives
 * the role and the limits of one process to another, and keeps locks of sessions that have gone. Two connections that are open at the same
 * time have a session each, unless one is lent to them in turn. Rejects if it cannot connect.
 */
export async function isPooledByTransaction(config: ClientConfig): Promise<boolean> {
  return withClient(config, (one) =>
    withClient(config, async (other) => (await backendOf(one)) === (await backendOf(other))),
  );
}
