import { DatabaseError, type Pool, type QueryResultRow } from 'pg';
import { CountersignError } from '../../workflows/domain/errors.ts';

/**
 * SQLSTATEs that say "not now": connection trouble (08), a deadlock or another conflict (40), no disk, memory or
 * connection left (53), a shutdown or a crash (57P), a failing disk (58), a lock or statement that took too long, and a
 * server that only reads.
 */
const PASSING = /^(08|40|53|57P|58)|^(55P03|57014|25006)$/;
/** A prepared statement whose table was migrated. Its connection is given up, and the next one prepares it anew. */
const OUTDATED_PLAN = 'cached plan must not change result type';

/**
 * Runs one prepared statement and answers its rows. Trouble that passes becomes `ERR_DATABASE_UNAVAILABLE`, never an
 * answer about the call: a timeout is not a lost claim. Whether the statement was committed is then not known.
 */
export async function query<Row extends QueryResultRow>(
  pool: Pool,
  name: string,
  text: string,
  values: unknown[] = [],
): Promise<Row[]> {
  try {
    return (await pool.query<Row>({ name, text, values })).rows;
  } catch (cause) {
    if (!passes(cause)) throw cause;
    throw new CountersignError('ERR_DATABASE_UNAVAILABLE', 'the database does not answer; try again', { cause });
  }
}

function passes(error: unknown): boolean {
  if (error instanceof DatabaseError) return PASSING.test(error.code ?? '') || error.message === OUTDATED_PLAN;
  // What else the driver throws is about the connection, but for faults of the program, which have classes of their own.
  return !(error instanceof TypeError || error instanceof RangeError);
}

/** Like `query`, for statements that give exactly one row. */
export async function queryOne<Row extends QueryResultRow>(
  pool: Pool,
  name: string,
  text: string,
  values: unknown[] = [],
): Promise<Row> {
  const [row] = await query<Row>(pool, name, text, values);
  if (row === undefined) throw new Error(`statement ${name} gave no row`);
  return row;
}
