import type { Pool } from 'pg';
import { CountersignError, isSealBroken } from '../../workflows/domain/errors.ts';
import type { Seals } from '../../workflows/domain/gated-call/sealing.ts';
import { query } from './query.ts';

interface DataKeyRow {
  readonly gated_call_id: string;
  readonly key_id: string;
  readonly call_key: string | null;
  readonly record_key: string;
}

// Two ranges of an index: whatever is not under this key is found without reading what is.
const NOT_UNDER = `(SELECT * FROM gateway.data_key WHERE key_id < $1 ORDER BY key_id LIMIT $2)
  UNION ALL (SELECT * FROM gateway.data_key WHERE key_id > $1 ORDER BY key_id LIMIT $2)`;

/**
 * Puts data keys that are under an earlier key of the configuration under the current one, at most about `limit` of them.
 * Answers how many. Throws `ERR_SEAL_BROKEN` when none could be and one of them cannot be opened.
 */
export async function rewrapDataKeys(pool: Pool, seals: Seals, limit: number): Promise<number> {
  const rows = await query<DataKeyRow>(pool, 'data-keys-not-under', NOT_UNDER, [seals.currentKeyId, limit]);
  let count = 0;
  let failure: CountersignError | undefined;
  for (const row of rows) {
    try {
      const wrapped = seals.rewrap({ call: row.call_key, record: row.record_key });
      await query(pool, 'rewrap-data-keys', 'SELECT gateway.rewrap_data_keys($1, $2, $3, $4, $5)', [
        row.gated_call_id,
        row.key_id,
        seals.currentKeyId,
        wrapped.call,
        wrapped.record,
      ]);
      count += 1;
    } catch (error) {
      // One row that was tampered with does not keep the others under a key that is to be removed.
      if (!isSealBroken(error)) throw error;
      failure = error;
    }
  }
  if (count === 0 && failure !== undefined) throw failure;
  return count;
}

/**
 * Throws `ERR_CONFIG_INVALID` when open calls are sealed under keys that are not among these. Without them each such call
 * would be denied as if it had been tampered with.
 */
export async function checkSealingKeys(pool: Pool, keyIds: readonly string[]): Promise<void> {
  const [missing] = await query<{ key_id: string; count: number }>(
    pool,
    'missing-sealing-keys',
    `SELECT k.key_id, count(*)::int AS count FROM gateway.data_key k JOIN gateway.gated_call g ON g.id = k.gated_call_id
     WHERE g.ended_at IS NULL AND k.key_id <> ALL ($1::text[]) GROUP BY k.key_id LIMIT 1`,
    [keyIds],
  );
  if (missing === undefined) return;
  throw new CountersignError(
    'ERR_CONFIG_INVALID',
    `${missing.count} open gated calls are sealed under the key "${missing.key_id}", which is not among the sealing keys; add it after the current one`,
  );
}
