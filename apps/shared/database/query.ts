import type { Pool, QueryResultRow } from 'pg';
import { asUnavailable } from '../../../workflows/domain/errors.ts';

/**
 * Runs a statement and returns its rows. One with a name is prepared once for each connection. Throws `ERR_DATABASE_UNAVAILABLE` for
 * transient failures: a timeout is no answer, such as a lost claim. Whether the statement was committed is then not known.
 */
export async function query<Row extends QueryResultRow>(
  pool: Pool,
  name: string | undefined,
  text: string,
  values: unknown[] = [],
): Promise<Row[]> {
  try {
    return (await pool.query<Row>({ name, text, values })).rows;
  } catch (error) {
    throw asUnavailable(error);
  }
}

export type Query = ReturnType<typeof queryOf>;

/** `query` over this pool, with a prefix for the names of statements. */
export const queryOf =
  (pool: Pool, prefix: 'approvals' | 'audit') =>
  <Row extends QueryResultRow>(name: string | undefined, text: string, values?: unknown[]) =>
    query<Row>(pool, name && `${prefix}-${name}`, text, values);

/** The row of a statement that always returns one. */
export async function one<Row>(rows: Promise<Row[]>): Promise<Row> {
  const [row] = await rows;
  if (row === undefined) throw new Error('a statement that always returns a row returned none');
  return row;
}
