import type { Pool } from 'pg';

/** Rows of a schema that this connection has fetched, by scans and indexes. Rows of ended transactions may drop out of the count. */
export async function rowsRead(connection: Pick<Pool, 'query'>, schema: 'gateway' | 'approvals'): Promise<number> {
  const { rows } = await connection.query<{ rows: number }>(
    `SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::int AS rows
     FROM pg_stat_xact_user_tables WHERE schemaname = $1`,
    [schema],
  );
  return rows[0]?.rows ?? Number.NaN;
}
