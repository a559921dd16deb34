/** SQL for an instant as text: UTC, microseconds, always with as many digits, so that texts compare as instants do. */
export const inUtc = (instant: string): string =>
  `to_char(${instant} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
