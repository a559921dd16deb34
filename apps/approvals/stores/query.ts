import type { Pool, QueryResultRow } from 'pg';
import { asUnavailable } from '../../../workflows/domain/errors.ts';
import { functionCall } from '../../shared/database/function-call.ts';

export type Query = ReturnType<typeof queryOf>;

/** Runs a prepared statement by its name and returns the rows. Throws `ERR_DATABASE_UNAVAILABLE` for transient failures. */
export function queryOf(pool: Pool) {
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

/** Calls a function of the schema `approvals` whose result is one value. */
export async function callFunction<Result>(query: Query, name: string, parameters: Record<string, unknown>) {
  const { text, values } = functionCall(`approvals.${name}`, parameters);
  const statement = name.replaceAll('_', '-');
  return (await one(query<{ result: Result }>(statement, `SELECT ${text} AS result`, values))).result;
}

/** A row in camel case, with instants as RFC 3339 texts and without the columns that are NULL. */
export function camelCased(row: QueryResultRow): object {
  const members = Object.entries(row).filter(([, value]) => value !== null);
  return Object.fromEntries(
    members.map(([column, value]: [string, unknown]) => [
      column.replace(/_(.)/g, (_match, letter: string) => letter.toUpperCase()),
      value instanceof Date ? value.toISOString() : value,
    ]),
  );
}

/** Parameters for a SQL function, named like its columns. */
export const snakeCased = (members: object): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(members).map(([name, value]: [string, unknown]) => [
      name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      value,
    ]),
  );

/** SQL for an instant within JSON, which would else be in the database's own time zone: as `camelCased` writes those of rows. */
export const instant = (column: string) => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
