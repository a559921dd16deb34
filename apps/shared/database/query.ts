import type { Pool, QueryResultRow } from 'pg';
import { asUnavailable } from '../../../workflows/domain/errors.ts';

export type Query = ReturnType<typeof queryOf>;

/**
 * Runs statements and returns their rows. One with a name is prepared once for each connection. Throws `ERR_DATABASE_UNAVAILABLE` for
 * transient failures.
 */
export function queryOf(pool: Pool, prefix: 'approvals' | 'audit') {
  return async <Row extends QueryResultRow>(name: string | undefined, text: string, values: unknown[] = []) => {
    try {
      return (await pool.query<Row>({ name: name && `${prefix}-${name}`, text, values })).rows;
    } catch (error) {
      throw asUnavailable(error);
    }
  };
}

/** The row of a statement that always returns one. */
export async function one<Row>(rows: Promise<Row[]>): Promise<Row> {
  const [row] = await rows;
  if (row === undefined) throw new Error('a statement that always returns a row returned none');
  return row;
}
