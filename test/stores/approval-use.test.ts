import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLifecycleStore } from '../../activities/stores/lifecycle.store.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { anApproval, gatedCallFixture, TEST_SEALS } from '../support/gated-calls.ts';
import { systemTime } from '../support/time.ts';

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

describe('an approval for years', () => {
  it('can be used for a day, or as long as is configured [PRJ-22]', async () => {
    const { pending, lifecycle } = gatedCallFixture(db.pool, { requestTtlMs: 7 * 86_400_000 });
    const shorter = createLifecycleStore(db.pool, {
      ...systemTime,
      seals: TEST_SEALS,
      retentionMs: 60_000,
      approvalUseMs: 5_000,
    });
    const remaining = async (store: Pick<typeof lifecycle, 'grant' | 'load'>, ends: string) => {
      const { gatedCallId } = await pending();
      expect(await store.grant(gatedCallId, 1, anApproval({ approvedUntil: ends }))).toBe('granted');
      return (await store.load(gatedCallId)).remainingMs;
    };
    const HOUR_MS = 3_600_000;
    const [years, hour] = ['2126-11-21T09:00:00Z', new Date(Date.now() + HOUR_MS).toISOString()];
    expect(Math.ceil((await remaining(lifecycle, years)) / HOUR_MS)).toBe(24);
    expect(Math.ceil((await remaining(lifecycle, hour)) / HOUR_MS)).toBe(1);
    expect(await remaining(shorter, years)).toBeLessThanOrEqual(5_000);
  });
});
