import type { Pool } from 'pg';
import type { Mutation } from '../histories/instance.ts';

/** The checks that can find a fault. */
export type Check = 'histories' | 'races' | 'model';

/** The product with one fault of a kind that a developer could make. */
export interface Mutant {
  readonly name: string;
  /** Tried in this order; the verdict names the first check that finds the fault. */
  readonly checks: readonly Check[];
  /** Makes the fault in a database that is thrown away afterwards. */
  readonly inDatabase?: (pool: Pool) => Promise<void>;
  /** Makes the fault around the ports of a process. Each run gets a new one, because it may have state. */
  readonly inProcess?: () => Mutation;
}

/**
 * Replaces text in a function of the database. Throws when the text is missing: a mutant that changes nothing proves
 * nothing.
 */
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

/** Removes the second fences, where a mutant has to show the purpose of the first one. */
export async function allowTransition(pool: Pool, from: string, to: string): Promise<void> {
  await pool.query(
    `INSERT INTO gateway.transition (from_state, to_state, is_end)
     SELECT $1, $2, coalesce(bool_or(is_end), false) FROM gateway.transition WHERE to_state = $2`,
    [from, to],
  );
  await pool.query('ALTER TABLE gateway.gated_call DROP CONSTRAINT IF EXISTS gated_call_unclaimed');
}
