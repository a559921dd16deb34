import type { Pool } from 'pg';
import type { Mutation } from '../histories/instance.ts';

/** What can tell that something is wrong. */
export type Check = 'histories' | 'races' | 'model';

/** The product with one fault in it, of a kind that somebody could make. */
export interface Mutant {
  readonly name: string;
  /** Tried in this order; the first that notices is named. */
  readonly checks: readonly Check[];
  /** Makes the fault in a database that is thrown away afterwards. */
  readonly inDatabase?: (pool: Pool) => Promise<void>;
  /** Makes it around the ports of a process. A new one for each run, because it may remember things. */
  readonly inProcess?: () => Mutation;
}

/** Replaces text in a function of the database. Throws when it is not there: a mutant that changes nothing proves nothing. */
export async function replaceInFunction(pool: Pool, name: string, ...changes: readonly (readonly [string, string])[]) {
  const { rows } = await pool.query<{ definition: string }>('SELECT pg_get_functiondef($1::regproc) AS definition', [
    name,
  ]);
  const changed = changes.reduce((text, [from, to]) => {
    if (!text.includes(from)) throw new Error(`${name} does not contain: ${from}`);
    return text.replaceAll(from, to);
  }, rows[0]?.definition ?? '');
  await pool.query(changed);
}

/** Takes the second fences away, where a mutant is to show what the first one is for. */
export async function allowTransition(pool: Pool, from: string, to: string): Promise<void> {
  await pool.query(
    `INSERT INTO gateway.transition (from_state, to_state, is_end)
     SELECT $1, $2, coalesce(bool_or(is_end), false) FROM gateway.transition WHERE to_state = $2`,
    [from, to],
  );
  await pool.query('ALTER TABLE gateway.gated_call DROP CONSTRAINT IF EXISTS gated_call_unclaimed');
}
