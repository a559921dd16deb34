import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { checkClock, checkDatabase } from '../../apps/cli/commands/doctor/services.ts';
import { readDatabaseClock } from '../../activities/stores/database-clock.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

describe('the clock of the database', () => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await createTestDatabase();
  });
  afterAll(() => db.drop());

  it('is read in milliseconds', async () => {
    const before = Date.now();
    const at = await readDatabaseClock(db.pool);
    // Both are of this machine; the database's has microseconds.
    expect(at).toBeGreaterThanOrEqual(before);
    expect(at).toBeLessThan(Date.now() + 1);
  });

  it.each([
    ['ok', 0, /^0[.]\d s (ahead of|behind) this machine's$/],
    ['warn', -10_000, /^(9|10)[.]\d s ahead of this machine's$/],
    ['warn', 10_000, /^(9|10)[.]\d s behind this machine's$/],
    ['fail', 600_000, /^(599|600)[.]\d s behind this machine's$/],
  ])('is %s to the doctor whose machine is ahead of it by %d ms', async (status, ourAheadMs, message) => {
    // The first answer of a new connection takes longer.
    await db.pool.query('SELECT 1');
    const found = await checkClock(db.pool, () => Date.now() + ourAheadMs);
    expect(found).toMatchObject({ name: 'database clock', status, message: expect.stringMatching(message) });
  });

  it('is among what the doctor says about a database', async () => {
    const found = await checkDatabase(db.url, 'development');
    expect(found.map(({ name }) => name)).toEqual(['database', 'database clock', 'migrations']);
    expect(found.find(({ name }) => name === 'database clock')).toMatchObject({ status: 'ok' });
  });
});
