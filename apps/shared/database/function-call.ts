/** The call of a function, for a statement. */
interface FunctionCall {
  /** `schema.name(p_one => $1, p_two => $2)` */
  readonly text: string;
  readonly values: unknown[];
}

/**
 * A call of a function of the database that names each parameter, without its prefix `p_`. The server refuses a name that the
 * function does not have, and a call that leaves a parameter without default out; so none is NULL by mistake. Undefined is NULL.
 * The text depends on the names alone, so one prepared statement serves all calls. A JSON value is to be given as text.
 */
export function functionCall(name: string, parameters: Readonly<Record<string, unknown>>): FunctionCall {
  const names = Object.keys(parameters);
  return {
    text: `${name}(${names.map((parameter, at) => `p_${parameter} => $${at + 1}`).join(', ')})`,
    values: names.map((parameter) => parameters[parameter] ?? null),
  };
}

/** SQL for an instant as text: UTC, microseconds, always with as many digits, so that texts compare as instants do. */
export const inUtc = (instant: string): string =>
  `to_char(${instant} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
