import { PrismaPg } from '@prisma/adapter-pg';
import { Pool } from 'pg';
import { PrismaClient } from '../../../prisma/generated/client.ts';

const STATEMENT_MS = 5_000;
const LOCK_MS = 2_000;
const IDLE_TRANSACTION_MS = 10_000;
const CONNECT_MS = 5_000;

/**
 * Connections to the database, for prepared queries and for Prisma alike. Nothing waits without end: a statement
 * 5 s, a lock 2 s, a transaction that its client forgot 10 s, a connection 5 s. Whoever makes the pool ends it.
 *
 * @param max Largest number of connections.
 * @param applicationName What an operator sees in `pg_stat_activity`.
 */
export function createPool(
  databaseUrl: string,
  { max = 10, applicationName }: { max?: number; applicationName: string },
): Pool {
  const pool = new Pool({
    connectionString: databaseUrl,
    max,
    application_name: applicationName,
    statement_timeout: STATEMENT_MS,
    lock_timeout: LOCK_MS,
    idle_in_transaction_session_timeout: IDLE_TRANSACTION_MS,
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
  });
  // An idle connection that the server closes reports here; without a listener it would end the process. The pool
  // has already let go of it, and the next query opens another.
  pool.on('error', () => undefined);
  return pool;
}

export type { PrismaClient };

/** A Prisma client over the pool. `$disconnect` it before the pool is ended; it does not end the pool itself. */
export function createPrisma(pool: Pool): PrismaClient {
  return new PrismaClient({ adapter: new PrismaPg(pool) });
}
