import type { Pool, QueryResultRow } from 'pg';
import { asUnavailable } from '../../../workflows/domain/errors.ts';

/** Runs a prepared statement by its name and returns the rows. Throws `ERR_DATABASE_UNAVAILABLE` for transient failures. */
export type Query = <Row extends QueryResultRow>(name: string, text: string, values?: unknown[]) => Promise<Row[]>;

export function queryOf(pool: Pool): Query {
  return async <Row extends QueryResultRow>(name: string, text: string, values: unknown[] = []) => {
    try {
      return (await pool.query<Row>({ name: `approvals-${name}`, text, values })).rows;
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

/** Calls a SQL function whose result is one word. */
export async function outcomeOf<Outcome extends string>(
  query: Query,
  call: { name: string; text: string; values: unknown[] },
): Promise<Outcome> {
  return (await one(query<{ outcome: Outcome }>(call.name, `SELECT ${call.text} AS outcome`, call.values))).outcome;
}
