import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { checkSealingKeys, rewrapDataKeys } from '../../activities/stores/data-keys.ts';
import { createLifecycleStore } from '../../activities/stores/lifecycle.store.ts';
import { createSeals } from '../../activities/stores/seals.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { gatedCallFixture, SEALING_SECRETS } from '../support/gated-calls.ts';

const NEXT = { kty: 'oct' as const, kid: 'next', k: Buffer.alloc(32, 9).toString('base64url') };
const { sealingKeys: old, digestKey } = SEALING_SECRETS;

describe('a change of the sealing key', () => {
  let db: TestDatabase;
  let fixture: ReturnType<typeof gatedCallFixture>;
  beforeAll(async () => {
    db = await createTestDatabase();
    fixture = gatedCallFixture(db.pool);
  });
  afterAll(() => db.drop());

  const both = createSeals({ keys: [NEXT, ...old], digestKey });
  const storeWith = (keys: typeof old) =>
    createLifecycleStore(db.pool, { seals: createSeals({ keys, digestKey }), retentionMs: 1_000 });
  const rewrapAll = async () => {
    let total = 0;
    for (let count = -1; count !== 0; total += count) count = await rewrapDataKeys(db.pool, both, 3);
    return total;
  };

  it('leaves every call readable with both keys, and with the new one alone once all are under it', async () => {
    const calls = await Promise.all(Array.from({ length: 7 }, () => fixture.granted()));
    const bindings = await Promise.all(
      calls.map(async (call) => (await fixture.lifecycle.load(call.gatedCallId)).binding),
    );
    const read = (keys: typeof old) =>
      Promise.all(calls.map(async (call) => (await storeWith(keys).load(call.gatedCallId)).binding));
    expect(await read([NEXT, ...old])).toEqual(bindings);
    expect(await rewrapAll()).toBe(7);
    expect(await read([NEXT, ...old])).toEqual(bindings);
    expect(await read([NEXT])).toEqual(bindings);
    await expect(read(old)).rejects.toMatchObject({ code: 'ERR_SEAL_BROKEN' });
  });

  it('brings no destroyed key back', async () => {
    const call = await fixture.pending();
    await db.pool.query('UPDATE gateway.data_key SET call_key = NULL WHERE gated_call_id = $1', [call.gatedCallId]);
    expect(await rewrapAll()).toBe(1);
    const { rows } = await db.pool.query('SELECT key_id, call_key FROM gateway.data_key WHERE gated_call_id = $1', [
      call.gatedCallId,
    ]);
    expect(rows).toEqual([{ key_id: 'next', call_key: null }]);
  });

  it('goes on past one that cannot be opened, and says so when there is no other', async () => {
    const [broken, whole] = [await fixture.pending(), await fixture.pending()];
    await db.pool.query(`UPDATE gateway.data_key SET record_key = 'x' WHERE gated_call_id = $1`, [broken.gatedCallId]);
    expect(await rewrapDataKeys(db.pool, both, 10)).toBe(1);
    await expect(rewrapDataKeys(db.pool, both, 10)).rejects.toMatchObject({ code: 'ERR_SEAL_BROKEN' });
    expect((await storeWith([NEXT]).load(whole.gatedCallId)).state).toBe('pending');
  });

  it('is refused while open calls need a key that would not be there', async () => {
    await fixture.pending();
    await expect(checkSealingKeys(db.pool, ['next'])).rejects.toThrow(/sealed under the key "test"/);
    await expect(checkSealingKeys(db.pool, ['next', 'test'])).resolves.toBeUndefined();
  });
});
