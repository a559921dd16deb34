import type { Pool } from 'pg';
import { queryOne } from './query.ts';

const IS_GONE = 'SELECT NOT EXISTS (SELECT FROM gateway.gated_call WHERE id = $1 AND forgotten_at IS NULL) AS "isGone"';

/**
 * Whether nothing is left of a gated call that could be acted on: its retention is over and it was forgotten, or its row
 * was deleted. No such call ever comes back, so whatever is still to be done for it never will be. A call of which only a
 * part is missing is not gone: it was tampered with.
 */
export async function isGone(pool: Pool, gatedCallId: string): Promise<boolean> {
  return (await queryOne<{ isGone: boolean }>(pool, 'is-gone', IS_GONE, [gatedCallId])).isGone;
}
