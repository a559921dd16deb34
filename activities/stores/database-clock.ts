import type { Pool } from 'pg';
import { queryOne } from './query.ts';

/** The database's clock, in milliseconds since 1970. Throws `ERR_DATABASE_UNAVAILABLE`. */
export async function readDatabaseClock(pool: Pool): Promise<number> {
  const text = 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms';
  return (await queryOne<{ ms: number }>(pool, 'database-clock', text)).ms;
}
