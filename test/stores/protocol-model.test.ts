import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { compareWithModel } from '../model/compare.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { times } from '../support/regime.ts';

/** In the second generation most operations lead to no new row, and would take a minute of every test run. */
const oneIn = times(40, 1);
const WHAT =
  oneIn === 1
    ? 'every operation'
    : `every operation in the first generation, in the second those that lead on and one in ${oneIn} of the others`;

describe('the functions of the database', () => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await createTestDatabase();
  });
  afterAll(() => db.drop());

  it(`answer and change as the model says, in every reachable state: ${WHAT}`, async () => {
    const { rows, tried, difference } = await compareWithModel(db.pool, { oneIn });
    expect(difference).toBeUndefined();
    expect(rows).toBeGreaterThan(1_000);
    expect(tried).toBeGreaterThan(times(6_000, 30_000));
  });
});
