import type { Pool, QueryResultRow } from 'pg';
import { CountersignError } from '../../workflows/domain/errors.ts';

/** SQLSTATEs that say "not now": connection trouble, shutdown, read-only, out of resources, lock or statement timeout. */
const PASSING = /^(08|53|57P0|55P03$|57014$|25006$|40)/;

/**
 * Runs one prepared statement and answers its rows. Trouble that passes becomes `ERR_DATABASE_UNAVAILABLE`, never an
 * answer about the call: a timeout is not a lost claim.
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
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (code === '' || PASSING.test(code) || /^E[A-Z]+$/.test(code)) {
      throw new CountersignError('ERR_DATABASE_UNAVAILABLE', 'the database does not answer; try again', {
        cause: error,
      });
    }
    throw error;
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
