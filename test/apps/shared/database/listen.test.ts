import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { getEventListeners } from 'node:events';
import { pino } from 'pino';
import { systemClock } from '../../../../apps/shared/clock.ts';
import { listen } from '../../../../apps/shared/database/listen.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { systemTime } from '../../../support/time.ts';
import { waitFor } from '../../../support/wait-for.ts';

const LOSSES = 3;
const WITHOUT_SERVER = 'postgresql://127.0.0.1:1/none';

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

/** Listens, and answers the listeners at the signal of its stop after each lost connection. */
async function listenersAfterLosses(url: string, lose: () => Promise<unknown>): Promise<readonly number[]> {
  const after: number[] = [];
  const clock = {
    ...systemClock,
    async after(_ms: number, signal?: AbortSignal) {
      if (signal !== undefined) after.push(getEventListeners(signal, 'abort').length);
      await systemClock.after(1, signal);
    },
  };
  const log = pino({ level: 'silent' });
  const listening = await listen({ ...systemTime, clock, url, channel: 'a_channel', log, onNotice: () => undefined });
  await waitFor(async () => {
    await lose();
    return after.length >= LOSSES;
  });
  await listening.stop();
  return after.slice(0, LOSSES);
}

it('a connection for notices leaves nothing behind when the server ends it', async () => {
  const end =
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1 AND datname = current_database()';
  const lose = () => db.pool.query(end, ['countersign a_channel']);
  expect(await listenersAfterLosses(db.url, lose)).toEqual([0, 0, 0]);
});

it('a connection for notices leaves nothing behind when no server answers', async () => {
  expect(await listenersAfterLosses(WITHOUT_SERVER, async () => undefined)).toEqual([0, 0, 0]);
});
