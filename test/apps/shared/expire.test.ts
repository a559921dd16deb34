import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { createDueCalls } from '../../../activities/stores/due-calls.ts';
import { startExpiry } from '../../../apps/shared/maintenance/expire.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { gatedCallFixture } from '../../support/gated-calls.ts';
import { waitFor } from '../../support/wait-for.ts';
import { systemTime } from '../../support/time.ts';

/** Longer than any standstill of the machine. */
const LEASE_MS = 600_000;

describe('the sweeper', () => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await createTestDatabase();
  });
  afterAll(() => db.drop());

  const sweeping = (fixture: ReturnType<typeof gatedCallFixture>, abandonAfterMs = 3_600_000) =>
    startExpiry({
      ...systemTime,
      calls: {
        rewrap: async () => 0,
        ...createDueCalls(db.pool),
        expire: fixture.lifecycle.expire,
        end: fixture.lifecycle.end,
      },
      intervalMs: 20,
      abandonAfterMs,
      log: pino({ enabled: false }),
    });
  const ended = (id: string) =>
    waitFor(async () => {
      const { rows } = await db.pool.query<{ state: string; reason: string }>(
        'SELECT state, reason FROM gateway.gated_call WHERE id = $1 AND ended_at IS NOT NULL',
        [id],
      );
      return rows[0];
    });

  /** The deadline of its request has passed. */
  const pass = (id: string) =>
    db.pool.query('UPDATE gateway.gated_call SET request_deadline = clock_timestamp() WHERE id = $1', [id]);

  it('carries out deadlines without any workflow, and leaves calls that are not due', async () => {
    const long = gatedCallFixture(db.pool);
    const due = await long.pending();
    const claimed = await long.claimed(30);
    const notDue = await long.pending();
    await pass(due.gatedCallId);
    const sweeper = sweeping(long);
    try {
      expect(await ended(due.gatedCallId)).toEqual({ state: 'denied', reason: 'request_expired' });
      // Its permit was never given, so its claim is given up and its approval still counts.
      await waitFor(async () => (await long.lifecycle.load(claimed.gatedCallId)).state === 'granted');
    } finally {
      await sweeper.stop();
    }
    expect((await long.lifecycle.load(notDue.gatedCallId)).state).toBe('pending');
  });

  it('ends every due call in one sweep, also behind hundreds that cannot be ended', async () => {
    const idOf = (index: number) => `call-${index}`;
    const due = new Set(Array.from({ length: 1_000 }, (_, index) => idOf(index)));
    const stuck = new Set(Array.from({ length: 450 }, (_, index) => idOf(index)));
    let sweeps = 0;
    const sweeper = startExpiry({
      ...systemTime,
      calls: {
        due: async (limit, skipped) => [...due].slice(skipped, skipped + limit),
        expire: async (id) => {
          if (stuck.has(id)) throw new Error('never');
          due.delete(id);
          return 'denied';
        },
        abandoned: async () => [],
        end: async () => 'cancelled',
        forget: async () => (sweeps += 1),
        rewrap: async () => 0,
      },
      intervalMs: 20,
      abandonAfterMs: 3_600_000,
      log: pino({ enabled: false }),
    });
    await waitFor(() => sweeps > 0);
    await sweeper.stop();
    expect(due).toEqual(stuck);
  });

  it('ends the other calls when one call cannot be ended', async () => {
    const fixture = gatedCallFixture(db.pool);
    const [broken, healthy] = [await fixture.pending(), await fixture.pending()];
    for (const { gatedCallId } of [broken, healthy]) await pass(gatedCallId);
    const tried = new Set<string>();
    const sweeper = startExpiry({
      ...systemTime,
      calls: {
        ...createDueCalls(db.pool),
        rewrap: async () => 0,
        end: fixture.lifecycle.end,
        expire: async (id) => {
          tried.add(id);
          if (id === broken.gatedCallId) throw new Error('never');
          return fixture.lifecycle.expire(id);
        },
      },
      intervalMs: 20,
      abandonAfterMs: 3_600_000,
      log: pino({ enabled: false }),
    });
    try {
      expect(await ended(healthy.gatedCallId)).toEqual({ state: 'denied', reason: 'request_expired' });
    } finally {
      await sweeper.stop();
    }
    expect(tried).toContain(broken.gatedCallId);
    expect((await fixture.lifecycle.load(broken.gatedCallId)).state).toBe('pending');
    await fixture.calls.cancel(broken.gatedCallId);
  });

  it('ends an unfinished creation, and cancels its access request', async () => {
    const fixture = gatedCallFixture(db.pool);
    const call = await fixture.opened();
    const atWork = await fixture.opened();
    const { releaseSubmission, takeSubmission } = fixture.lifecycle;
    for (const { gatedCallId } of [call, atWork]) await releaseSubmission(gatedCallId);
    expect(await takeSubmission(atWork.gatedCallId, LEASE_MS)).toBeDefined();
    const sweeper = sweeping(fixture, 1);
    try {
      expect(await ended(call.gatedCallId)).toEqual({ state: 'cancelled', reason: 'abandoned' });
    } finally {
      await sweeper.stop();
    }
    expect((await fixture.lifecycle.load(atWork.gatedCallId)).state).toBe('preparing');
    const { rows } = await db.pool.query('SELECT kind FROM gateway.outbox WHERE subject_id = $1', [call.gatedCallId]);
    expect(rows).toContainEqual({ kind: 'cancel_access_request' });
  });

  it('does not end a call that was finished or taken over since the lookup', async () => {
    const fixture = gatedCallFixture(db.pool);
    const { end, releaseSubmission, takeSubmission, load } = fixture.lifecycle;
    const giveUp = (id: string) => end(id, 'cancelled', 'abandoned', 'sweeper');
    const finished = await fixture.pending();
    await releaseSubmission(finished.gatedCallId);
    expect(await giveUp(finished.gatedCallId)).toBe('pending');
    const takenOver = await fixture.opened();
    await releaseSubmission(takenOver.gatedCallId);
    expect(await takeSubmission(takenOver.gatedCallId, LEASE_MS)).toBeDefined();
    expect(await giveUp(takenOver.gatedCallId)).toBe('preparing');

    const left = await fixture.opened();
    await releaseSubmission(left.gatedCallId);
    // Both act at once: the second finds the result of the first.
    const [state, taken] = await Promise.all([giveUp(left.gatedCallId), takeSubmission(left.gatedCallId, LEASE_MS)]);
    expect(state === 'cancelled').toBe(taken === undefined);
    expect((await load(left.gatedCallId)).state).toBe(state);
  });
});
