import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import pino from 'pino';
import { createOpenCalls } from '../../../activities/stores/open-calls.ts';
import { startCallReconciler } from '../../../apps/worker/maintenance/reconciler.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { gatedCallFixture } from '../../support/gated-calls.ts';
import { waitFor } from '../../support/wait-for.ts';
import { systemTime } from '../../support/time.ts';

const HOUR = 3_600_000;
/** Calls that wait, as many as one installation is meant to bear. */
const MANY = 10_000;

describe('the reconciler', () => {
  let db: TestDatabase;
  beforeAll(async () => {
    // One connection, whose statistics can be read at once.
    db = await createTestDatabase({ max: 1 });
  });
  afterAll(() => db.drop());

  /** An engine that has these workflows, and a reconciler beside it. */
  function beside(has: Set<string>, intervalMs = HOUR) {
    const restarted: { id: string; when: 'at once' | 'resting' }[] = [];
    const roused: string[] = [];
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
      rouse: async (id: string) => {
        roused.push(id);
        return true;
      },
      restart: async (id: string, when: 'at once' | 'resting') => {
        if (engine.isAway) throw new Error('away');
        if (engine.finished.has(id)) return 'finished' as const;
        restarted.push({ id, when });
        has.add(id);
        return 'running' as const;
      },
      startAnew: async (id: string) => void anew.push(id),
    };
    const calls = createOpenCalls(db.pool);
    const log = pino({ enabled: false });
    const { progress } = gatedCallFixture(db.pool).lifecycle;
    const report = async (id: string) => void reported.push(id);
    const reconciler = startCallReconciler({ ...systemTime, calls, workflows, progress, report, intervalMs, log });
    return { restarted, roused, anew, reported, engine, stop: () => reconciler.stop() };
  }
  const unqueued = () => db.pool.query('DELETE FROM gateway.outbox');

  it('starts what does not run, at once when it could be executed, and nothing else', async () => {
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
    const { restarted, stop } = beside(new Set([runs.gatedCallId]));
    try {
      await waitFor(() => restarted.length >= 3);
    } finally {
      await stop();
    }
    const ids = [missing, granted, claimed].map((call) => call.gatedCallId);
    expect(restarted.map(({ id }) => id).sort()).toEqual(ids.sort());
    const atOnce = restarted.filter(({ when }) => when === 'at once').map(({ id }) => id);
    expect(atOnce.sort()).toEqual([granted.gatedCallId, claimed.gatedCallId].sort());
    expect(restarted.map(({ id }) => id)).not.toContain(queued.gatedCallId);
  });

  it('wakes a workflow that may rest though its call could go on, and no other', async () => {
    const fixture = gatedCallFixture(db.pool);
    const calls = [await fixture.pending(), await fixture.granted(), await fixture.claimed()] as const;
    const { roused, stop } = beside(new Set(calls.map(({ gatedCallId }) => gatedCallId)));
    try {
      await waitFor(() => roused.length >= 2);
    } finally {
      await stop();
    }
    expect(roused.sort()).toEqual([calls[1].gatedCallId, calls[2].gatedCallId].sort());
  });

  it('looks after a workflow that runs though its call is over', async () => {
    const fixture = gatedCallFixture(db.pool);
    const over = await fixture.pending();
    await fixture.calls.cancel(over.gatedCallId);
    await unqueued();
    const { roused, stop } = beside(new Set([over.gatedCallId]));
    try {
      await waitFor(() => roused.includes(over.gatedCallId));
    } finally {
      await stop();
    }
  });

  it('reports an open call whose workflow came to its end, and starts another one only where nothing can be sent again', async () => {
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
    const { restarted, anew, reported, engine, stop } = beside(new Set());
    engine.finished = new Set([...ids, permitted.gatedCallId]);
    try {
      await waitFor(() => reported.length >= 3 && anew.length > 0);
    } finally {
      await stop();
    }
    expect(reported.sort()).toEqual(ids.sort());
    expect(anew).toEqual([permitted.gatedCallId]);
    expect(restarted.filter(({ id }) => engine.finished.has(id))).toEqual([]);
  });

  it('has a round as soon as the engine is back, however long the interval', async () => {
    const has = new Set<string>();
    const { restarted, engine, stop } = beside(has);
    try {
      await waitFor(() => engine.rounds === 1 && restarted.length > 0);
      engine.isAway = true;
      // Back, and empty.
      has.clear();
      restarted.length = 0;
      // A reconciler that was not told would take this for the silence of a long interval.
      await waitFor(() => engine.refused > 0);
      engine.isAway = false;
      await waitFor(() => restarted.length > 0);
      expect(engine.rounds).toBe(2);
    } finally {
      await stop();
    }
  });

  it(`finds one that is missing among ${MANY} and reads only calls that are open`, async () => {
    // A busy machine takes its time over so many rows.
    await db.pool.query('SET statement_timeout = 0');
    await db.pool.query(
      `INSERT INTO gateway.gated_call (id, task_id, subject_key, owner_key, dedup_key, state, request_deadline, latest_deadline, retain_until)
       SELECT id, id::text, id::text, id::text, 'x', 'pending', now() + interval '1 day', now() + interval '1 day', now() + interval '2 days'
       FROM (SELECT gen_random_uuid() AS id FROM generate_series(1, $1)) AS ids`,
      [MANY],
    );
    await db.pool.query(
      `INSERT INTO gateway.gated_call (id, task_id, subject_key, owner_key, dedup_key, state, request_deadline, latest_deadline, retain_until, ended_at)
       SELECT id, id::text, id::text, id::text, 'x', 'denied', now() + interval '1 day', now() + interval '1 day', now() + interval '2 days', now()
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
    const { restarted, stop } = beside(has);
    try {
      await waitFor(() => restarted.length > 0);
    } finally {
      await stop();
    }
    expect(restarted.map(({ id }) => id)).toEqual([lost]);
    expect(await seqRead()).toBe(before);
  });
  /** Rows that were read without an index, by anybody. */
  const seqRead = async () => {
    await db.pool.query('SELECT pg_stat_force_next_flush()');
    const { rows } = await db.pool.query<{ read: string }>(
      "SELECT seq_tup_read AS read FROM pg_stat_user_tables WHERE schemaname = 'gateway' AND relname = 'gated_call'",
    );
    return rows[0]?.read;
  };
});
