import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createDuePolls } from '../../activities/stores/due-calls.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { anApproval, gatedCallFixture } from '../support/gated-calls.ts';

/** Longer than these tests take on any machine: no call is polled again within another test. */
const MIN_MS = 600_000;
const MAX_MS = 3_600_000;

describe('polls for resolutions without a callback', () => {
  let db: TestDatabase;
  let fixture: ReturnType<typeof gatedCallFixture>;
  let polls: ReturnType<typeof createDuePolls>;
  beforeAll(async () => {
    db = await createTestDatabase();
    // Every call is due at once.
    fixture = gatedCallFixture(db.pool, { firstPollMs: 0 });
    polls = createDuePolls(db.pool, { minMs: MIN_MS, maxMs: MAX_MS });
  });
  beforeEach(async () => void (await polls.take(1_000)));
  afterAll(() => db.drop());

  /** Milliseconds from then to the next poll, and to now. */
  const nextLook = async (gatedCallId: string, from: string) => {
    const { rows } = await db.pool.query<{ pause: number; ago: number }>(
      `SELECT (extract(epoch FROM poll_at - $2::timestamptz) * 1000)::float8 AS pause,
              (extract(epoch FROM clock_timestamp() - $2::timestamptz) * 1000)::float8 AS ago
       FROM gateway.gated_call WHERE id = $1`,
      [gatedCallId, from],
    );
    return rows[0] ?? { pause: Number.NaN, ago: Number.NaN };
  };
  const now = async () =>
    String((await db.pool.query<{ at: string }>('SELECT clock_timestamp()::text AS at')).rows[0]?.at);
  const hasWaited = (gatedCallId: string, seconds: number) =>
    db.pool.query(
      `UPDATE gateway.gated_call SET last_updated_at = clock_timestamp() - $2 * interval '1 s' WHERE id = $1`,
      [gatedCallId, seconds],
    );

  it('are due for calls that await a resolution, and for no others', async () => {
    const pending = await fixture.pending();
    const cancelled = await fixture.pending();
    await fixture.calls.cancel(cancelled.gatedCallId);
    await fixture.opened();
    await fixture.granted();
    await fixture.claimed();
    expect(await polls.take(1_000)).toEqual([pending.gatedCallId]);
    expect(await polls.take(1_000)).toEqual([]);
  });

  it('are not due before the first pause is over', async () => {
    await gatedCallFixture(db.pool, { firstPollMs: MIN_MS }).pending();
    expect(await polls.take(1_000)).toEqual([]);
  });

  it.each([
    ['the shortest pause', 0, MIN_MS],
    ['as long again as it has waited', 1_200, 1_200_000],
    ['the longest pause', 86_400, MAX_MS],
  ])('come again after %s, or up to a fifth earlier', async (_, waitedSeconds, pauseMs) => {
    const call = await fixture.pending();
    const before = await now();
    await hasWaited(call.gatedCallId, waitedSeconds);
    expect(await polls.take(1_000)).toEqual([call.gatedCallId]);
    const { pause, ago } = await nextLook(call.gatedCallId, before);
    expect(pause).toBeGreaterThanOrEqual(Math.floor(pauseMs * 0.8));
    // Meanwhile the call has waited a little longer, and its next poll is later by that time.
    expect(pause).toBeLessThanOrEqual(pauseMs + 2 * ago);
  });

  it('are taken by one of several concurrent processes, each call once, the longest overdue first', async () => {
    const calls: string[] = [];
    for (let count = 0; count < 60; count += 1) calls.push((await fixture.pending()).gatedCallId);
    const first = await polls.take(10);
    expect([...first].sort()).toEqual(calls.slice(0, 10).sort());
    const taken = await Promise.all([polls.take(20), polls.take(20), polls.take(20), polls.take(20)]);
    expect([...first, ...taken.flat()].sort()).toEqual([...calls].sort());
  });

  it("do not change the clock of the state, or the client's view of it", async () => {
    const call = await fixture.pending();
    const row = async () =>
      (
        await db.pool.query('SELECT state, state_version, last_updated_at FROM gateway.gated_call WHERE id = $1', [
          call.gatedCallId,
        ])
      ).rows[0];
    const before = await row();
    await polls.take(1_000);
    expect(await row()).toEqual(before);
  });

  it('are put off when the service asks for it, and never brought forward', async () => {
    const call = await fixture.pending();
    await polls.take(1_000);
    const before = await now();
    await polls.deferPoll(call.gatedCallId, 7_200_000);
    const { pause } = await nextLook(call.gatedCallId, before);
    expect(pause).toBeGreaterThanOrEqual(7_200_000);
    await polls.deferPoll(call.gatedCallId, 1_000);
    expect(await nextLook(call.gatedCallId, before)).toMatchObject({ pause });
  });

  it('are due at once for a further approval that has no request yet', async () => {
    const call = await fixture.pending();
    await polls.take(1_000);
    await fixture.lifecycle.grant(call.gatedCallId, 1, anApproval());
    const next = { idempotencyKey: `key-${call.gatedCallId}`, endpoint: 'http://127.0.0.1:1/', body: '{}' };
    expect(await fixture.lifecycle.requestAgain({ ...call, generation: 1 }, next, 2)).toBe('pending');
    expect(await polls.take(1_000)).toEqual([call.gatedCallId]);
  });

  it('wake a workflow through the outbox, which keeps undelivered rows', async () => {
    const call = await fixture.pending();
    const signals = async () =>
      (
        await db.pool.query("SELECT 1 FROM gateway.outbox WHERE subject_id = $1 AND kind = 'signal_workflow'", [
          call.gatedCallId,
        ])
      ).rowCount;
    expect(await signals()).toBe(0);
    const before = await now();
    await polls.enqueueSignal(call.gatedCallId);
    expect(await signals()).toBe(1);
    // A signal is under way: another poll now would only add another one.
    expect((await nextLook(call.gatedCallId, before)).pause).toBeGreaterThan(55_000);
  });
});
