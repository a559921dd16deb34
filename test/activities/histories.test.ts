import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CONNECTIONS, replay, runHistories } from '../histories/run-histories.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

describe('gated calls under random faults', () => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await createTestDatabase({ max: CONNECTIONS });
  });
  afterAll(() => db.drop());

  it('keep every promise, in 100 histories', async () => {
    const { failure, ends, arrivals } = await runHistories(db.pool, { count: 100, seed: 'every commit' });
    expect(failure).toBeUndefined();
    expect(arrivals).toBeGreaterThan(30);
    for (const state of ['executed', 'denied', 'cancelled', 'execution_error', 'outcome_unknown'])
      expect(ends[state]).toBeGreaterThan(0);
  });

  it('can be repeated from their seed', async () => {
    const twice = async () => [await replay(db.pool, 'again'), await replay(db.pool, 'again')] as const;
    let [began, [first, second]] = [performance.now(), await twice()];
    // A decision is fresh for five seconds. If the machine stood still for longer, the history differs.
    for (let turn = 1; performance.now() - began > 5_000 && turn < 5; turn += 1)
      [began, [first, second]] = [performance.now(), await twice()];
    expect(first.trace.length).toBeGreaterThan(20);
    expect(second.trace).toEqual(first.trace);
  });
});
