import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { Pool } from 'pg';
import { query } from '../../apps/shared/database/query.ts';
import { CountersignError, isSealBroken, isSealingKeyMissing } from '../../workflows/domain/errors.ts';
import type { Seals, WrappedKeys } from '../../workflows/domain/gated-call/sealing.ts';
import { callFunction } from './query.ts';

/** A key of the configuration. `k`: 32 bytes, base64url. @see RFC 7518, section 6.4 */
export interface SealingKey {
  readonly kid: string;
  readonly k: string;
}

const VERSION = 'v1';

/** Column and row of a sealed text. They are authenticated with the text, which opens nowhere else. */
type Place = readonly [column: string, row: string];

/** The keys of the configuration, which wrap data keys. Throws `ERR_CONFIG_INVALID` when there is none. */
export function createKeyRing(keys: readonly SealingKey[]) {
  const ring = new Map(keys.map(({ kid, k }) => [kid, new Uint8Array(Buffer.from(k, 'base64url'))]));
  const [current] = keys;
  const currentKey = current && ring.get(current.kid);
  if (current === undefined || currentKey === undefined) {
    throw new CountersignError('ERR_CONFIG_INVALID', 'there is no sealing key');
  }
  return {
    currentKeyId: current.kid,
    earlierKeyIds: [...ring.keys()].filter((keyId) => keyId !== current.kid),
    wrap: (dataKey: Uint8Array): string => `${seal(currentKey, ['data_key', current.kid], dataKey)}.${current.kid}`,
    /**
     * Throws `ERR_SEALING_KEY_UNAVAILABLE` for a data key that is under a key of another name: an operator who changes keys
     * process by process may have started one with it already. Throws `ERR_SEAL_BROKEN` for an altered one.
     */
    unwrap(wrapped: string): Uint8Array {
      const [sealed = '', ...kid] = wrapped.split('.');
      const keyId = kid.join('.');
      const key = ring.get(keyId);
      if (key !== undefined) return unseal(key, ['data_key', keyId], sealed);
      if (keyId === '') throw broken('its data key is under no key');
      throw new CountersignError(
        'ERR_SEALING_KEY_UNAVAILABLE',
        `a sealed value of a gated call is under the key "${keyId}", which is not among the sealing keys of this process; ` +
          'add it after the current one, and start the process again',
      );
    },
  };
}

const CIPHER = 'aes-256-gcm';
/** Drawn for each text: 96 random bits under a key that seals a handful of texts, or wraps far fewer than 2^32 keys. */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

const associatedData = (place: Place) => Buffer.from(JSON.stringify([VERSION, ...place]));

/** Nonce, ciphertext and tag, base64url. @see NIST SP 800-38D, sections 7.1 and 8.2.2 */
export function seal(key: Uint8Array, place: Place, plain: Uint8Array): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES }).setAAD(associatedData(place));
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]).toString('base64url');
}

/** Throws `ERR_SEAL_BROKEN` for a text that was altered, or sealed for another place. */
export function unseal(key: Uint8Array, place: Place, sealed: string): Buffer {
  const bytes = Buffer.from(sealed, 'base64url');
  try {
    const nonce = bytes.subarray(0, NONCE_BYTES);
    const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES }).setAAD(associatedData(place));
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
  } catch (cause) {
    throw broken('it was altered, or sealed for another place', cause);
  }
}

export function broken(why: string, cause?: unknown): CountersignError {
  return new CountersignError('ERR_SEAL_BROKEN', `a sealed value of a gated call cannot be opened: ${why}`, { cause });
}

// Two ranges of an index, so that data keys under this key are not read. Data keys that only another process can open are left
// out, so they hold nothing up.
const KEYS =
  'SELECT gated_call_id AS id, key_id AS "from", call_key AS call, record_key AS record FROM gateway.data_key';
const NOT_UNDER = `(${KEYS} WHERE key_id < $1 AND key_id = ANY ($3) ORDER BY key_id LIMIT $2)
  UNION ALL (${KEYS} WHERE key_id > $1 AND key_id = ANY ($3) ORDER BY key_id LIMIT $2)`;

/**
 * Puts data keys that are under an earlier key of the configuration under the current one, at most about `limit` of them.
 * Answers how many. Throws when none could be and one of them cannot be opened.
 */
export async function rewrapDataKeys(pool: Pool, seals: Seals, limit: number): Promise<number> {
  const { currentKeyId, earlierKeyIds } = seals;
  if (earlierKeyIds.length === 0) return 0;
  const values = [currentKeyId, limit, earlierKeyIds];
  const rows = await query<WrappedKeys & { id: string; from: string }>(pool, 'data-keys-not-under', NOT_UNDER, values);
  let count = 0;
  let failure: CountersignError | undefined;
  for (const { id, from, ...keys } of rows) {
    try {
      const { call: call_key, record: record_key } = seals.rewrap(keys);
      const change = { call: id, from, to: currentKeyId, call_key, record_key };
      await callFunction<boolean>(pool, 'rewrap-data-keys', change);
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
