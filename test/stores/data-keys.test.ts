import { describe, expect, it } from '@jest/globals';
import { missingSealingKeys, rewrapDataKeys } from '../../activities/stores/key-ring.ts';
import { createLifecycleStore } from '../../activities/stores/lifecycle.store.ts';
import { createSeals } from '../../activities/stores/seals.ts';
import { gatedCallFixture, SEALING_SECRETS } from '../support/gated-calls.ts';
import { ownCalls } from '../support/own-calls.ts';
import { sealingKey, sealingSecrets } from '../support/sealing-secrets.ts';
import { systemTime } from '../support/time.ts';

const NEXT = sealingKey('next', 9);
const { sealingKeys: old, digestKey } = SEALING_SECRETS;

describe('a change of the sealing key', () => {
  const own = ownCalls();

  const both = createSeals(sealingSecrets([NEXT, ...old], digestKey));
  const storeWith = (keys: typeof old) =>
    createLifecycleStore(own.db.pool, {
      ...systemTime,
      seals: createSeals(sealingSecrets(keys, digestKey)),
      retentionMs: 1_000,
    });
  const rewrapAll = async () => {
    let total = 0;
    for (let count = -1; count !== 0; total += count) count = await rewrapDataKeys(own.db.pool, both, 3);
    return total;
  };

  it('leaves every call readable with both keys, and with the new one alone once all are under it', async () => {
    const calls = await Promise.all(Array.from({ length: 7 }, () => own.fixture.granted()));
    const bindings = await Promise.all(
      calls.map(async (call) => (await own.fixture.lifecycle.load(call.gatedCallId)).binding),
    );
    const read = (keys: typeof old) =>
      Promise.all(calls.map(async (call) => (await storeWith(keys).load(call.gatedCallId)).binding));
    expect(await read([NEXT, ...old])).toEqual(bindings);
    expect(await rewrapAll()).toBe(7);
    expect(await read([NEXT, ...old])).toEqual(bindings);
    expect(await read([NEXT])).toEqual(bindings);
    await expect(read(old)).rejects.toMatchObject({ code: 'ERR_SEALING_KEY_UNAVAILABLE', retryable: true });
  });

  it('brings no destroyed key back', async () => {
    const call = await own.fixture.pending();
    await own.db.pool.query('UPDATE gateway.data_key SET call_key = NULL WHERE gated_call_id = $1', [call.gatedCallId]);
    expect(await rewrapAll()).toBe(1);
    const { rows } = await own.db.pool.query('SELECT key_id, call_key FROM gateway.data_key WHERE gated_call_id = $1', [
      call.gatedCallId,
    ]);
    expect(rows).toEqual([{ key_id: 'next', call_key: null }]);
  });

  it('goes on past any number of calls that only another process can open', async () => {
    const call = await own.fixture.pending();
    for (const kid of ['a', 'z']) {
      const foreign = gatedCallFixture(own.db.pool, {
        seals: createSeals(sealingSecrets([{ ...NEXT, kid }], digestKey)),
      });
      for (let n = 0; n < 3; n += 1) await foreign.calls.cancel((await foreign.pending()).gatedCallId);
    }
    expect(await rewrapDataKeys(own.db.pool, both, 2)).toBe(1);
    expect((await storeWith([NEXT]).load(call.gatedCallId)).state).toBe('pending');
    expect(await rewrapDataKeys(own.db.pool, both, 2)).toBe(0);
  });

  it('goes on past a call that cannot be opened, and reports it when there is no other', async () => {
    const [broken, whole] = [await own.fixture.pending(), await own.fixture.pending()];
    await own.db.pool.query(`UPDATE gateway.data_key SET record_key = 'x' WHERE gated_call_id = $1`, [
      broken.gatedCallId,
    ]);
    expect(await rewrapDataKeys(own.db.pool, both, 10)).toBe(1);
    await expect(rewrapDataKeys(own.db.pool, both, 10)).rejects.toMatchObject({ code: 'ERR_SEAL_BROKEN' });
    expect((await storeWith([NEXT]).load(whole.gatedCallId)).state).toBe('pending');
  });

  it('can be checked against the keys that open calls need', async () => {
    await own.fixture.pending();
    const [missing, ...others] = await missingSealingKeys(own.db.pool, ['next']);
    expect([missing, others]).toEqual([{ keyId: 'test', calls: expect.any(Number) }, []]);
    expect(await missingSealingKeys(own.db.pool, ['next', 'test'])).toEqual([]);
  });
});
