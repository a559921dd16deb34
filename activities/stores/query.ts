import type { Pool, QueryResultRow } from 'pg';
import { asUnavailable } from '../../workflows/domain/database-unavailable.ts';

/**
 * Runs one prepared statement and answers its rows. Trouble that passes becomes `ERR_DATABASE_UNAVAILABLE`, never an
 * answer about the call: a timeout is not a lost claim. Whether the statement was committed is then not known.
 */
export async function query<Row extends QueryResultRow>(
  pool: Pool,
  name: string,
  text: string,
  values: unknown[] = [],
): Promise<Row[]> {
  try {
    return (await pool.query<Row>({ name, text, values })).rows;
  } catch (error) {
    throw asUnavailable(error);
  }
}

/** Like `query`, for statements that give exactly one row. */
export async function queryOne<Row extends QueryResultRow>(
  pool: Pool,
  name: string,
  text: string,
  values: unknown[] = [],
): Promise<Row> {
  const [row] = await query<Row>(pool, name, text, values);
  if (row === undefined) throw new Error(`statement ${name} gave no row`);
  return row;
}
