import type { Pool } from 'pg';

/** For each of the server's clocks a function of the same name, which adds the offset in the table to the true time. */
const CLOCKS = [
  ['clock_timestamp', 'VOLATILE'],
  ['now', 'STABLE'],
].map(
  ([name, kind]) => `
    CREATE FUNCTION wrong.true_${name}() RETURNS timestamptz LANGUAGE internal ${kind} AS '${name}';
    CREATE FUNCTION wrong.${name}() RETURNS timestamptz LANGUAGE plpgsql ${kind} SECURITY DEFINER AS
      'BEGIN RETURN wrong.true_${name}() + (SELECT by FROM wrong.shift); END';
    CREATE OR REPLACE FUNCTION pg_catalog.${name}() RETURNS timestamptz LANGUAGE sql ${kind} AS 'SELECT wrong.${name}()';`,
);

/**
 * Replaces the server's clock with one that can jump, for everything in this one database: statements, functions and
 * defaults of columns. Answers a function that sets it: milliseconds ahead of the true clock.
 */
export async function jumpingClock(pool: Pool): Promise<(aheadMs: number) => Promise<void>> {
  await pool.query(
    `CREATE SCHEMA wrong; CREATE TABLE wrong.shift (by interval NOT NULL); INSERT INTO wrong.shift VALUES ('0'); ${CLOCKS.join('')}`,
  );
  return async (aheadMs) => {
    await pool.query(`UPDATE wrong.shift SET by = $1 * interval '1 ms'`, [aheadMs]);
  };
}
