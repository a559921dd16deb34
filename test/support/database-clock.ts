import type { Pool } from 'pg';

/** For each of the server's clocks a function of the same name, which answers what `timeOf` says about the true one. */
const clocks = (timeOf: (trueTime: string, name: string) => string) =>
  [
    ['clock_timestamp', 'VOLATILE'],
    ['now', 'STABLE'],
  ].map(
    ([name = '', kind]) => `
    CREATE FUNCTION wrong.true_${name}() RETURNS timestamptz LANGUAGE internal ${kind} AS '${name}';
    CREATE FUNCTION wrong.${name}() RETURNS timestamptz LANGUAGE plpgsql ${kind} SECURITY DEFINER AS
      $$BEGIN RETURN ${timeOf(`wrong.true_${name}()`, name)}; END$$;
    CREATE OR REPLACE FUNCTION pg_catalog.${name}() RETURNS timestamptz LANGUAGE sql ${kind} AS 'SELECT wrong.${name}()';`,
  );

/**
 * Replaces the server's clock with one that can jump, for everything in this one database: statements, functions and
 * defaults of columns. Answers a function that sets it: milliseconds ahead of the true clock.
 */
export async function jumpingClock(pool: Pool): Promise<(aheadMs: number) => Promise<void>> {
  await pool.query(
    `CREATE SCHEMA wrong; CREATE TABLE wrong.shift (by interval NOT NULL); INSERT INTO wrong.shift VALUES ('0');
     ${clocks((trueTime) => `${trueTime} + (SELECT by FROM wrong.shift)`).join('')}`,
  );
  return async (aheadMs) => {
    await pool.query(`UPDATE wrong.shift SET by = $1 * interval '1 ms'`, [aheadMs]);
  };
}

/** Replaces the server's clock in this database with one that only goes on when it is read, by a microsecond. */
export async function countingClock(pool: Pool): Promise<void> {
  const reads = (name: string) => (name === 'now' ? '(SELECT last_value FROM wrong.reads)' : `nextval('wrong.reads')`);
  await pool.query(
    `CREATE SCHEMA wrong; CREATE SEQUENCE wrong.reads; CREATE TABLE wrong.start AS SELECT clock_timestamp() AS at;
     ${clocks((_trueTime, name) => `(SELECT at FROM wrong.start) + ${reads(name)} * interval '1 us'`).join('')}`,
  );
}
