import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { compareWithModel } from '../model/compare.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

describe('the functions of the database', () => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await createTestDatabase();
  });
  afterAll(() => db.drop());

  it('answer and do what the model says, in every state that can be reached', async () => {
    const { rows, tried, difference } = await compareWithModel(db.pool);
    expect(difference).toBeUndefined();
    expect(rows).toBeGreaterThan(1_000);
    expect(tried).toBeGreaterThan(6_000);
  });
});
