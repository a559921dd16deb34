import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { compareWithModel } from '../model/compare.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { IS_THOROUGH, times } from '../support/regime.ts';

/** Most operations lead to no new row, and would take a minute of every test run. */
const isBrief = !IS_THOROUGH;
const WHAT = isBrief ? 'every operation that leads on, and one of each kind of the others' : 'every operation';

describe('the functions of the database', () => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await createTestDatabase();
  });
  afterAll(() => db.drop());

  it(`answer and change as the model says, in every reachable state: ${WHAT}`, async () => {
    const { rows, tried, difference } = await compareWithModel(db.pool, { oneIn: 1, isBrief });
    expect(difference).toBeUndefined();
    expect(rows).toBeGreaterThan(1_000);
    expect(tried).toBeGreaterThan(times(2_800, 30_000));
  });
});
