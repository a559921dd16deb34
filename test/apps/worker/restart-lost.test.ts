import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import pino from 'pino';
import { createOpenCalls } from '../../../activities/stores/due-calls.ts';
import { startRestartLost } from '../../../apps/worker/jobs/restart-lost.ts';
import type { Activity } from '../../../apps/shared/temporal/gated-call-workflows.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { gatedCallFixture } from '../../support/gated-calls.ts';
import { waitFor } from '../../support/wait-for.ts';
import { systemTime } from '../../support/time.ts';

const HOUR = 3_600_000;
/** The supported number of waiting calls in one installation. */
const MANY = 1_000;

describe('the restart of lost workflows', () => {
  let db: TestDatabase;
  beforeAll(async () => {
    // One connection, so that its statistics are readable at once.
    db = await createTestDatabase({ max: 1 });
  });
  afterAll(() => db.drop());

  /** An engine with these workflows, and the job next to it. */
  function beside(has: Set<string>, intervalMs = HOUR) {
    const started: { id: string; how: 'waiting' | 'signalled' }[] = [];
    const signalled: string[] = [];
    const alarms: { gatedCall?: string; alarm?: string }[] = [];
    const activities = new Map<string, Activity>();
    const anew: string[] = [];
    const reported: string[] = [];
    const engine = { isAway: false, rounds: 0, refused: 0, finished: new Set<string>() };
    const workflows = {
      ping: async () => {
        if (engine.isAway) {
          engine.refused += 1;
          throw new Error('away');
        }
      },
      async *running() {
        engine.rounds += 1;
        yield* has;
      },
      activity: async (id: string) => activities.get(id) ?? 'waiting',
      signal: async (id: string) => {
        if (engine.finished.has(id)) return 'finished' as const;
        if (has.has(id)) signalled.push(id);
        else started.push({ id, how: 'signalled' });
        has.add(id);
        return 'running' as const;
      },
      start: async (id: string, pending?: object) => {
        if (engine.isAway) throw new Error('away');
        if (engine.finished.has(id)) return 'finished' as const;
        expect(pending).toEqual({ generation: 1, deadlineMs: expect.any(Number) });
        started.push({ id, how: 'waiting' });
        has.add(id);
        return 'running' as const;
      },
      startAnew: async (id: string) => void anew.push(id),
    };
    const calls = createOpenCalls(db.pool);
    const log = pino({ level: 'error' }, { write: (line: string) => void alarms.push(JSON.parse(line) as object) });
    const { progress } = gatedCallFixture(db.pool).lifecycle;
    const report = async (id: string) => void reported.push(id);
    const job = startRestartLost({ ...systemTime, calls, workflows, progress, report, intervalMs, log });
    return { started, signalled, activities, alarms, anew, reported, engine, stop: () => job.stop() };
  }
  const unqueued = () => db.pool.query('DELETE FROM gateway.outbox');

  it('starts missing workflows, and signals those that can continue', async () => {
    const fixture = gatedCallFixture(db.pool);
    const missing = await fixture.pending();
    const granted = await fixture.granted();
    const claimed = await fixture.claimed();
    const runs = await fixture.pending();
    const over = await fixture.pending();
    await fixture.calls.cancel(over.gatedCallId);
    await unqueued();
    await fixture.opened();
    const queued = await fixture.pending();
    const { started, stop } = beside(new Set([runs.gatedCallId]));
    try {
      await waitFor(() => started.length >= 3);
    } finally {
      await stop();
    }
    const ids = [missing, granted, claimed].map((call) => call.gatedCallId);
    expect(started.map(({ id }) => id).sort()).toEqual(ids.sort());
    const atOnce = started.filter(({ how }) => how === 'signalled').map(({ id }) => id);
    expect(atOnce.sort()).toEqual([granted.gatedCallId, claimed.gatedCallId].sort());
    expect(started.map(({ id }) => id)).not.toContain(queued.gatedCallId);
  });

  it('signals a waiting workflow whose call can continue, and no other', async () => {
    const fixture = gatedCallFixture(db.pool);
    const calls = [await fixture.pending(), await fixture.granted(), await fixture.claimed()] as const;
    const busy = await fixture.claimed();
    const { signalled, activities, stop } = beside(new Set([...calls, busy].map(({ gatedCallId }) => gatedCallId)));
    activities.set(busy.gatedCallId, 'busy');
    try {
      await waitFor(() => signalled.length >= 2);
    } finally {
      await stop();
    }
    expect(signalled.sort()).toEqual([calls[1].gatedCallId, calls[2].gatedCallId].sort());
  });

  it('reports a workflow that cannot continue from its history, and neither ends nor signals it', async () => {
    const fixture = gatedCallFixture(db.pool);
    const { gatedCallId } = await fixture.granted();
    const { signalled, started, activities, alarms, engine, stop } = beside(new Set([gatedCallId]));
    activities.set(gatedCallId, 'stuck');
    try {
      await waitFor(() => alarms.length > 0);
    } finally {
      await stop();
    }
    expect(alarms).toEqual([expect.objectContaining({ gatedCall: gatedCallId, alarm: 'workflow_stuck' })]);
    expect(engine.rounds).toBe(1);
    expect([...signalled, ...started.map(({ id }) => id)]).not.toContain(gatedCallId);
  });

  it('signals a workflow that runs although its call has ended', async () => {
    const fixture = gatedCallFixture(db.pool);
    const over = await fixture.pending();
    await fixture.calls.cancel(over.gatedCallId);
    await unqueued();
    const { signalled, stop } = beside(new Set([over.gatedCallId]));
    try {
      await waitFor(() => signalled.includes(over.gatedCallId));
    } finally {
      await stop();
    }
  });

  it('reports an open call whose workflow has ended, and starts another only where no call can be sent twice', async () => {
    const fixture = gatedCallFixture(db.pool);
    const [pending, granted, claimed, permitted] = [
      await fixture.pending(),
      await fixture.granted(),
      await fixture.claimed(),
      await fixture.claimed(),
    ];
    const permit = { invocationId: randomUUID(), upstreamKey: randomUUID() };
    expect(await fixture.lifecycle.beginInvocation({ ...permitted, ...permit })).toBe(true);
    await unqueued();
    const ids = [pending, granted, claimed].map(({ gatedCallId }) => gatedCallId);
    const { started, anew, reported, engine, stop } = beside(new Set());
    engine.finished = new Set([...ids, permitted.gatedCallId]);
    try {
      await waitFor(() => reported.length >= 3 && anew.length > 0);
    } finally {
      await stop();
    }
    expect(reported.sort()).toEqual(ids.sort());
    expect(anew).toEqual([permitted.gatedCallId]);
    expect(started.filter(({ id }) => engine.finished.has(id))).toEqual([]);
  });

  it('runs as soon as the engine is back, at any interval', async () => {
    const has = new Set<string>();
    const { started, engine, stop } = beside(has);
    try {
      await waitFor(() => engine.rounds === 1 && started.length > 0);
      engine.isAway = true;
      // The engine is back, and empty.
      has.clear();
      started.length = 0;
      // Without the notice, the job would wait for its long interval.
      await waitFor(() => engine.refused > 0);
      engine.isAway = false;
      await waitFor(() => started.length > 0);
      expect(engine.rounds).toBe(2);
    } finally {
      await stop();
    }
  });

  it(`finds one missing workflow among ${MANY} and reads only open calls`, async () => {
    // A busy machine needs time for so many rows.
    await db.pool.query('SET statement_timeout = 0');
    await db.pool.query(
      `INSERT INTO gateway.gated_call (id, task_id, subject_key, owner_key, dedup_key, state, request_ttl_ms, request_deadline, retain_until)
       SELECT id, id::text, id::text, id::text, 'x', 'pending', 86400000, now() + interval '1 day', now() + interval '2 days'
       FROM (SELECT gen_random_uuid() AS id FROM generate_series(1, $1)) AS ids`,
      [MANY],
    );
    await db.pool.query(
      `INSERT INTO gateway.gated_call (id, task_id, subject_key, owner_key, dedup_key, state, request_ttl_ms, request_deadline, retain_until, ended_at)
       SELECT id, id::text, id::text, id::text, 'x', 'denied', 86400000, now() + interval '1 day', now() + interval '2 days', now()
       FROM (SELECT gen_random_uuid() AS id FROM generate_series(1, $1)) AS ids`,
      [10 * MANY],
    );
    await unqueued();
    const { rows } = await db.pool.query<{ id: string }>(
      "SELECT id FROM gateway.gated_call WHERE ended_at IS NULL AND state <> 'preparing'",
    );
    const has = new Set(rows.map(({ id }) => id));
    const lost = rows[Math.floor(rows.length / 2)]?.id ?? randomUUID();
    has.delete(lost);
    await db.pool.query('ANALYZE gateway.gated_call');
    const before = await seqRead();
    const { started, stop } = beside(has);
    try {
      await waitFor(() => started.length > 0);
    } finally {
      await stop();
    }
    expect(started.map(({ id }) => id)).toEqual([lost]);
    expect(await seqRead()).toBe(before);
  });
  /** Rows that any session read without an index. */
  const seqRead = async () => {
    await db.pool.query('SELECT pg_stat_force_next_flush()');
    const { rows } = await db.pool.query<{ read: string }>(
      "SELECT seq_tup_read AS read FROM pg_stat_user_tables WHERE schemaname = 'gateway' AND relname = 'gated_call'",
    );
    return rows[0]?.read;
  };
});
