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

/** Instants in JSON from the database are in its own time zone. */
export const atInUtc = <Member extends { readonly at: string }>(member: Member): Member => ({
  ...member,
  at: new Date(member.at).toISOString(),
});
