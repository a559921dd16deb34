import type { Pool } from 'pg';
import { isSealBroken, isSealingKeyMissing, type CountersignError } from '../../workflows/domain/errors.ts';
import type { Seals } from '../../workflows/domain/gated-call/sealing.ts';
import { query } from './query.ts';

interface DataKeyRow {
  readonly gated_call_id: string;
  readonly key_id: string;
  readonly call_key: string | null;
  readonly record_key: string;
}

// Two ranges of an index: whatever is not under this key is found without reading what is. Data keys that only another
// process can open are not looked at, so they are in nobody's way.
const NOT_UNDER = `(SELECT * FROM gateway.data_key WHERE key_id < $1 AND key_id = ANY ($3) ORDER BY key_id LIMIT $2)
  UNION ALL (SELECT * FROM gateway.data_key WHERE key_id > $1 AND key_id = ANY ($3) ORDER BY key_id LIMIT $2)`;

/**
 * Puts data keys that are under an earlier key of the configuration under the current one, at most about `limit` of them.
 * Answers how many. Throws when none could be and one of them cannot be opened.
 */
export async function rewrapDataKeys(pool: Pool, seals: Seals, limit: number): Promise<number> {
  const { currentKeyId, earlierKeyIds } = seals;
  if (earlierKeyIds.length === 0) return 0;
  const rows = await query<DataKeyRow>(pool, 'data-keys-not-under', NOT_UNDER, [currentKeyId, limit, earlierKeyIds]);
  let count = 0;
  let failure: CountersignError | undefined;
  for (const row of rows) {
    try {
      const wrapped = seals.rewrap({ call: row.call_key, record: row.record_key });
      await query(pool, 'rewrap-data-keys', 'SELECT gateway.rewrap_data_keys($1, $2, $3, $4, $5)', [
        row.gated_call_id,
        row.key_id,
        currentKeyId,
        wrapped.call,
        wrapped.record,
      ]);
      count += 1;
    } catch (error) {
      // One row that was tampered with does not keep the others under a key that is to be removed.
      if (!isSealBroken(error) && !isSealingKeyMissing(error)) throw error;
      failure = error;
    }
  }
  if (count === 0 && failure !== undefined) throw failure;
  return count;
}

/** The keys that open calls are sealed under and that are not among these, each with the number of such calls. */
export function missingSealingKeys(
  pool: Pool,
  keyIds: readonly string[],
): Promise<readonly { readonly keyId: string; readonly calls: number }[]> {
  return query(
    pool,
    'missing-sealing-keys',
    `SELECT k.key_id AS "keyId", count(*)::int AS calls FROM gateway.data_key k
     JOIN gateway.gated_call g ON g.id = k.gated_call_id
     WHERE g.ended_at IS NULL AND k.key_id <> ALL ($1::text[]) GROUP BY k.key_id`,
    [keyIds],
  );
}
