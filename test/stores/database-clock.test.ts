import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { checkClock, checkDatabase } from '../../apps/cli/commands/doctor/services.ts';
import { readDatabaseClock } from '../../activities/stores/query.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { waitFor } from '../support/wait-for.ts';
import { IN_DEVELOPMENT } from '../support/time.ts';

describe('the clock of the database', () => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await createTestDatabase();
  });
  afterAll(() => db.drop());

  /** The doctor's finding, once the answer was fast enough to compare clocks: a machine may stand still. */
  const readInTime = <Found extends { readonly message: string } | undefined>(look: () => Promise<Found>) =>
    waitFor(async () => {
      const found = await look();
      return found?.message.includes('took too long') ? undefined : found;
    });

  it('is read in milliseconds', async () => {
    const before = Date.now();
    const at = await readDatabaseClock(db.pool);
    // Both clocks are of this machine; the database's has microseconds.
    expect(at).toBeGreaterThanOrEqual(before);
    expect(at).toBeLessThan(Date.now() + 1);
  });

  it.each([
    ['ok', 0, /^0[.]\d s (ahead of|behind) this machine's$/],
    ['warn', -10_000, /^(9|10)[.]\d s ahead of this machine's$/],
    ['warn', 10_000, /^(9|10)[.]\d s behind this machine's$/],
    ['fail', 600_000, /^(599|600)[.]\d s behind this machine's$/],
  ])('is %s to a doctor whose machine is ahead of it by %d ms', async (status, ourAheadMs, message) => {
    const found = await readInTime(() => checkClock(db.pool, { now: () => Date.now() + ourAheadMs }));
    expect(found).toMatchObject({ name: 'database clock', status, message: expect.stringMatching(message) });
  });

  it("is part of the doctor's report on a database", async () => {
    const names: string[][] = [];
    const clock = await readInTime(async () => {
      const found = await checkDatabase(db.url, IN_DEVELOPMENT);
      names.push(found.map(({ name }) => name));
      return found.find(({ name }) => name === 'database clock');
    });
    expect(names[0]).toEqual(['database', 'database clock', 'migrations', 'restore']);
    expect(clock).toMatchObject({ status: 'ok' });
  });
});
