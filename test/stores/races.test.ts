import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CONNECTIONS, runRaces } from '../races/run-races.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

describe('approval, cancellation and deadline within the same ten milliseconds', () => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await createTestDatabase({ max: CONNECTIONS });
  });
  afterAll(() => db.drop());

  it('give exactly one winner each, 150 times', async () => {
    const { winners, contradictions, violations } = await runRaces(db.pool, 150);
    expect(contradictions).toEqual([]);
    expect(violations).toEqual([]);
    // A race that one side always wins proves nothing.
    for (const count of Object.values(winners)) expect(count).toBeGreaterThan(3);
  });
});
