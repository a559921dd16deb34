import type { QueryResultRow } from 'pg';
import { functionCall } from '../../shared/database/function-call.ts';
import { one, type Query } from '../../shared/database/query.ts';

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
