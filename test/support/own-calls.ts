import { afterAll, beforeAll } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { gatedCallFixture } from './gated-calls.ts';

/** A database with gated calls. */
export interface OwnCalls {
  db: TestDatabase;
  fixture: ReturnType<typeof gatedCallFixture>;
}

/**
 * Gives the tests of a file, or of a block of it, their own database. Call it outside of any test; the result is filled
 * in before the first one.
 */
export function ownCalls(): OwnCalls {
  const own = {} as OwnCalls;
  beforeAll(async () => {
    own.db = await createTestDatabase();
    own.fixture = gatedCallFixture(own.db.pool);
  });
  afterAll(() => own.db.drop());
  return own;
}
