import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CONNECTIONS, replay, runHistories } from '../histories/run-histories.ts';
import { countingClock } from '../support/database-clock.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

describe('gated calls under random faults', () => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await createTestDatabase({ max: CONNECTIONS });
  });
  afterAll(() => db.drop());

  it('keep every promise, in 40 histories', async () => {
    const { failure, ends, arrivals, byGrant } = await runHistories(db.pool, { count: 40, seed: 'each change' });
    expect(failure).toBeUndefined();
    expect(arrivals).toBeGreaterThan(10);
    expect(byGrant).toBeGreaterThan(0);
    for (const state of ['executed', 'denied', 'cancelled']) expect(ends[state]).toBeGreaterThan(0);
  });

  it('can be repeated from their seed, however slow the machine is', async () => {
    // A decision is fresh for five seconds of the database.
    await countingClock(db.pool);
    const [first, second] = [await replay(db.pool, 'again'), await replay(db.pool, 'again')];
    expect(first.trace.length).toBeGreaterThan(20);
    expect(second.trace).toEqual(first.trace);
  });
});
