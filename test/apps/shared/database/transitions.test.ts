import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { pino } from 'pino';
import type { Pool } from 'pg';
import { createPool } from '../../../../apps/shared/database/pool.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { gatedCallFixture } from '../../../support/gated-calls.ts';
import { systemTime } from '../../../support/time.ts';

let db: TestDatabase;
let pool: Pool;
let lines: Record<string, unknown>[] = [];
beforeAll(async () => {
  db = await createTestDatabase();
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) });
  pool = createPool(db.url, { ...systemTime, applicationName: 'reporting', log });
});
afterAll(async () => {
  await pool.end();
  await db.drop();
});

const END = `SELECT gateway.end_unclaimed($1, 'cancelled', 'client_cancelled', 'client', 1000)`;

it('logs a transition when its statement commits, and none for a statement that fails after it', async () => {
  const { gatedCallId } = await gatedCallFixture(db.pool).pending();
  lines = [];
  await expect(pool.query({ text: `${END}, 1 / (random() * 0)::int`, values: [gatedCallId] })).rejects.toThrow(/zero/);
  expect(lines).toEqual([]);
  await pool.query({ text: END, values: [gatedCallId] });
  expect(lines).toMatchObject([
    {
      event: 'transition',
      of: 'gated_call',
      gatedCall: gatedCallId,
      from: 'pending',
      to: 'cancelled',
      cause: 'client',
    },
  ]);
});

it('keeps a connection that broke in the middle of a statement out of the pool', async () => {
  const ended = pool.query({ text: 'SELECT pg_terminate_backend(pg_backend_pid())' });
  await expect(ended).rejects.toThrow();
  expect((await pool.query({ text: 'SELECT 1 AS one' })).rows).toEqual([{ one: 1 }]);
});
