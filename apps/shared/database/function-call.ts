/**
 * A call of a database function with named parameters, whose prefix `p_` is left out here. The server refuses unknown names and missing
 * parameters, so no parameter is NULL by mistake. Undefined is NULL. The text depends only on the names, so one prepared statement
 * serves all calls. Pass a JSON value as text.
 */
export function functionCall(name: string, parameters: Readonly<Record<string, unknown>>) {
  const names = Object.keys(parameters);
  return {
    /** `schema.name(p_one => $1, p_two => $2)` */
    text: `${name}(${names.map((parameter, at) => `p_${parameter} => $${at + 1}`).join(', ')})`,
    values: names.map((parameter) => parameters[parameter] ?? null),
  };
}

/** SQL for an instant as text: UTC, with a fixed number of digits, so that texts compare as instants do. */
export const inUtc = (instant: string): string =>
  `to_char(${instant} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
