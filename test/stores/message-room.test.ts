import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createAccessRequestStore } from '../../apps/approvals/stores/access-request.store.ts';
import { newAccessRequest } from '../support/access-requests.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { letPass } from '../support/passing-time.ts';

describe('the room for messages to a person', () => {
  let db: TestDatabase;
  let store: ReturnType<typeof createAccessRequestStore>;
  beforeAll(async () => {
    db = await createTestDatabase();
    store = createAccessRequestStore(db.pool);
  });
  afterAll(() => db.drop());
  beforeEach(() => db.pool.query('DELETE FROM approvals.alert'));

  /** Messages about a new request to a person, one for each channel. */
  const messages = async (person: string, channels = ['email']): Promise<string[]> => {
    const request = newAccessRequest();
    await store.create(request, []);
    const text = `INSERT INTO approvals.message (access_request_id, person, channel) SELECT $1, $2, unnest($3::text[]) RETURNING id::text`;
    const { rows } = await db.pool.query<{ id: string }>(text, [request.id, person, channels]);
    return rows.map(({ id }) => id);
  };
  const admitted = async (ids: readonly string[], key = 'ask 1') =>
    (await Promise.all(ids.map((id) => store.admitMessage(id, key, true)))).filter(Boolean).length;
  const heard = async () => (await db.pool.query('SELECT FROM approvals.alert')).rowCount;

  it('is for four requests in ten minutes, however many processes ask at the same moment', async () => {
    const all = (await Promise.all(Array.from({ length: 40 }, () => messages('alice')))).flat();
    const others = (await Promise.all(Array.from({ length: 3 }, () => messages('bob')))).flat();
    expect(await Promise.all([admitted(all), admitted(others)])).toEqual([4, 3]);
    const gathered = "SELECT FROM approvals.message WHERE gathered IS NOT NULL AND person = 'alice'";
    expect((await db.pool.query(gathered)).rowCount).toBe(36);
  });

  it('is for twelve messages of their own in an hour, in all channels together', async () => {
    for (let part = 0; part < 5; part += 1) {
      for (let request = 0; request < 3; request += 1) await admitted(await messages('alice', ['email', 'slack']));
      await letPass(db.pool, 11);
    }
    expect(await heard()).toBe(12);
    await letPass(db.pool, 6);
    expect(await admitted(await messages('alice'))).toBe(1);
  });

  it('is taken once by a message that is tried again, and again by one that says something else', async () => {
    const [id = ''] = await messages('alice');
    expect([await admitted([id, id, id]), await heard()]).toEqual([3, 1]);
    expect([await admitted([id], 'remind 1 1'), await heard()]).toEqual([1, 2]);
  });

  it('is for 18 messages in an hour with digests, and for 20 if a deadline is near', async () => {
    const digest = async (channel: string) => {
      await store.scheduleDigest('carol', channel, new Date());
      const text = `SELECT id::text FROM approvals.message WHERE access_request_id IS NULL AND person = 'carol' AND channel = $1`;
      return (await db.pool.query<{ id: string }>(text, [channel])).rows[0]?.id ?? '';
    };
    const [mail, chat] = [await digest('email'), await digest('slack')];
    const twoDigests = async (after: number, minutes: number) => {
      for (const id of [mail, chat]) await store.admitDigest(id, after);
      await letPass(db.pool, minutes);
    };
    for (let request = 0; request < 3; request += 1)
      await admitted(await messages('carol', ['email', 'slack', 'push', 'teams']));
    expect(await heard()).toBe(12);
    for (let at = 0; at < 8; at += 1) await twoDigests(at, 5);
    expect(await heard()).toBe(18);
    expect(await store.admitDigest(mail, 100)).toBeInstanceOf(Date);
    const [near = ''] = await messages('carol');
    await db.pool.query(`UPDATE approvals.message SET gathered = 200 WHERE id = $1`, [near]);
    await db.pool.query(`ALTER TABLE approvals.access_request DISABLE TRIGGER USER;
      UPDATE approvals.access_request SET expires_at = clock_timestamp() + interval '5 min' WHERE status = 'pending';
      ALTER TABLE approvals.access_request ENABLE TRIGGER USER`);
    for (let at = 0; at < 5; at += 1) await twoDigests(100 + at, 3);
    expect(await heard()).toBe(20);
  });
});
