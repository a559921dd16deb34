import { afterEach, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { createFence } from '../../activities/stores/fence.ts';
import { Client } from 'pg';
import { migrate } from '../../apps/shared/database/migrate.ts';
import { createEmptyDatabase } from '../support/database.ts';
import { ownCalls } from '../support/own-calls.ts';
import { stepsIn } from '../support/steps.ts';
import { NEVER_RESTORED } from '../support/never-restored.ts';
import { ORDINARY_LIMITS } from '../support/time.ts';

const own = ownCalls();
const query = (text: string, values: unknown[] = []) => own.db.pool.query(text, values);
const fence = () => createFence(own.db.pool);
const state = async () => (await fence().read()).state;
/** As `reconcile` does when it comes to its end. */
async function lift(): Promise<void> {
  for (const text of ['SELECT gateway.stamp(1)', 'SELECT pg_current_xact_id()', 'SELECT gateway.stamp(2)'])
    await query(text);
  await query('SELECT gateway.thaw()');
}
afterEach(lift);

describe('a database with rows written by other processes', () => {
  const rewritten = 'CREATE TEMP TABLE copy AS SELECT * FROM gateway.fence; DELETE FROM gateway.fence;';
  const restores: Record<string, string> = {
    'in one transaction': `${rewritten} INSERT INTO gateway.fence SELECT * FROM copy`,
    'row by row': 'UPDATE gateway.fence SET place = place WHERE place = 1',
    'without the fence': 'TRUNCATE gateway.fence',
    'into another database': 'UPDATE gateway.fence SET stamped_by = pg_current_xact_id(), database = 1',
    'without the epoch': 'DELETE FROM gateway.epoch',
  };
  it.each(Object.entries(restores))('is frozen: %s', async (_, how) => {
    const client = await own.db.pool.connect();
    try {
      await client.query(`BEGIN; ${how}`);
      const { rows } = await client.query('SELECT gateway.fence_state() AS state');
      expect(rows).toEqual([{ state: 'restored' }]);
    } finally {
      await client.query('ROLLBACK');
      client.release();
    }
  });

  it.each(['VACUUM (FREEZE) gateway.fence', 'VACUUM FULL gateway.fence', 'CLUSTER gateway.fence USING fence_pkey'])(
    'is not frozen after %s',
    async (text) => {
      await query(text);
      expect(await state()).toBe('whole');
    },
  );

  it('is recognised after its migration by two rows of transactions that are not neighbours', async () => {
    const empty = await createEmptyDatabase();
    try {
      await migrate(empty.url, ORDINARY_LIMITS);
      const client = new Client({ connectionString: empty.url });
      await client.connect();
      const text = `SELECT gateway.fence_state() AS state,
        max(stamped_by::text::bigint) - min(stamped_by::text::bigint) > 1 AS apart FROM gateway.fence`;
      const { rows } = await client.query(text);
      await client.end();
      expect(rows).toEqual([{ state: 'whole', apart: true }]);
    } finally {
      await empty.drop();
    }
  });
});

describe('a frozen database', () => {
  const freeze = () => query('UPDATE gateway.fence SET place = place');
  const endings = ['client_cancelled', 'abandoned', 'request_expired', 'policy_denied', 'tool_changed'];

  it('lets no open call end, since its progress is unknown', async () => {
    const { fixture } = own;
    const calls = [await fixture.opened(), await fixture.pending(), await fixture.granted(), await fixture.claimed()];
    await freeze();
    await query(`UPDATE gateway.gated_call SET request_deadline = clock_timestamp(), execution_deadline = clock_timestamp()
      WHERE ended_at IS NULL`);
    for (const { gatedCallId } of calls) {
      const before = (await fixture.lifecycle.progress(gatedCallId)).state;
      for (const reason of endings)
        await query(`SELECT gateway.end_unclaimed($1, 'cancelled', $2, 'client', 0)`, [gatedCallId, reason]);
      await fixture.lifecycle.expire(gatedCallId);
      expect((await fixture.lifecycle.progress(gatedCallId)).state).toBe(before);
      expect(before).not.toBe('denied');
    }
  });

  it('gives no claim and no permit, and its steps wait', async () => {
    const { fixture } = own;
    const [granted, claimed] = [await fixture.granted(), await fixture.claimed()];
    const decisionId = await fixture.allow(granted.gatedCallId);
    await freeze();
    const { gatedCallId } = granted;
    const claim = {
      gatedCallId,
      generation: 1,
      epoch: 1,
      decisionId,
      claimId: randomUUID(),
      executionTimeoutMs: 1_000,
    };
    expect(await fixture.lifecycle.claim(claim)).toBe('frozen');
    const permit = { ...claimed, invocationId: randomUUID(), upstreamKey: randomUUID() };
    expect(await fixture.lifecycle.beginInvocation(permit)).toBe(false);
    const steps = stepsIn({}, fixture.lifecycle);
    expect(await steps.toTheClaim(granted)).toMatchObject({ kind: 'retry' });
    expect(await steps.settle(claimed)).toMatchObject({ kind: 'retry' });
  });

  it('lets a call that has its permit end as unknown', async () => {
    const { fixture } = own;
    const claimed = await fixture.claimed();
    const permit = { ...claimed, invocationId: randomUUID(), upstreamKey: randomUUID() };
    expect(await fixture.lifecycle.beginInvocation(permit)).toBe(true);
    await freeze();
    await query('UPDATE gateway.gated_call SET execution_deadline = clock_timestamp() WHERE id = $1', [
      claimed.gatedCallId,
    ]);
    expect(await fixture.lifecycle.expire(claimed.gatedCallId)).toBe('outcome_unknown');
  });
});

describe('a database compared with the mark that the engine has of it', () => {
  const timeline = (to: string) => query(`UPDATE gateway.epoch SET timeline = ${to}`);
  const epoch = async () => Number((await query('SELECT number FROM gateway.epoch')).rows[0]?.number);

  it('is whole with an older mark and without any, and says what the mark must become', async () => {
    await own.fixture.claimed();
    const now = await fence().holdAgainst(undefined);
    expect(now).toMatchObject({ state: 'whole', epoch: await epoch() });
    expect(now.claims).toBeGreaterThan(0);
    expect(await fence().holdAgainst({ epoch: now.epoch, claims: now.claims - 1 })).toEqual(now);
  });

  it.each([
    ['claims', { epoch: 0, claims: 1 }],
    ['restores that were reconciled', { epoch: 1, claims: -1_000 }],
  ])('is frozen when the engine remembers more %s', async (_, more) => {
    const now = await fence().holdAgainst(undefined);
    const mark = { epoch: now.epoch + more.epoch, claims: now.claims + more.claims };
    expect(await fence().holdAgainst(mark)).toMatchObject({ state: 'engine_ahead' });
    expect(await state()).toBe('engine_ahead');
  });

  it('is confirmed on another timeline, and frozen where there is no mark either', async () => {
    const now = await fence().holdAgainst(undefined);
    await timeline('timeline + 1');
    expect(await fence().holdAgainst(now)).toEqual(now);
    expect(await fence().holdAgainst(undefined)).toEqual(now);
    await timeline('timeline + 1');
    expect(await fence().holdAgainst(undefined)).toMatchObject({ state: 'no_witness' });
  });
});

describe('a call that was claimed before a failover, and has no permit on record', () => {
  /** Its permit was given and used; the server that took over never heard of it. */
  async function sentAndForgotten() {
    const claimed = await own.fixture.claimed();
    await query(`SET session_replication_role = replica;
      UPDATE gateway.execution_claim SET timeline = timeline - 1 WHERE gated_call_id = '${claimed.gatedCallId}';
      SET session_replication_role = origin`);
    return claimed;
  }
  const end = async (id: string) => {
    await query('UPDATE gateway.gated_call SET execution_deadline = clock_timestamp() WHERE id = $1', [id]);
    return own.fixture.lifecycle.expire(id);
  };

  it('is not sent again: it gets no permit, and its steps wait for the deadline', async () => {
    const call = await sentAndForgotten();
    const steps = stepsIn({}, own.fixture.lifecycle);
    expect(await steps.settle(call)).toMatchObject({ kind: 'retry' });
    await steps.invokeTool(call);
    expect(steps.sent).toEqual([]);
  });

  it('ends as unknown, and is not decided anew', async () => {
    expect(await end((await sentAndForgotten()).gatedCallId)).toBe('outcome_unknown');
    expect(await end((await own.fixture.claimed()).gatedCallId)).toBe('granted');
  });
});

describe('a call that the engine knows in a later state than its row', () => {
  /** The reports of the steps, with an engine that has seen everything before. */
  function watched(contradicts: boolean) {
    const reported: string[] = [];
    const restores = {
      ...NEVER_RESTORED,
      contradicts: async () => contradicts,
      report: async (id: string) => void reported.push(id),
    };
    return { reported, steps: stepsIn({ restores }, own.fixture.lifecycle) };
  }

  it('is reported by the step after the claim, and its workflow does not end', async () => {
    const { reported, steps } = watched(false);
    const granted = await own.fixture.granted();
    expect(await steps.settle(granted)).toMatchObject({ kind: 'retry' });
    expect(reported).toEqual([granted.gatedCallId]);
  });

  it('is reported when the workflow of a call finds it not submitted', async () => {
    const { reported, steps } = watched(false);
    const opened = await own.fixture.opened();
    expect(await steps.toTheClaim(opened)).toMatchObject({ kind: 'open' });
    expect(reported).toEqual([opened.gatedCallId]);
  });

  it('is not claimed where another run of its workflow sent it or came to its end', async () => {
    const [old, young] = [await own.fixture.granted(), await own.fixture.granted()];
    // The row is from before the start of the server, so it may have come back with a copy of the files.
    await query(`UPDATE gateway.gated_call SET created_at = '2000-01-01' WHERE id = $1`, [old.gatedCallId]);
    const { reported, steps } = watched(true);
    expect(await steps.toTheClaim(old)).toMatchObject({ kind: 'retry' });
    expect(reported).toEqual([old.gatedCallId]);
    expect((await own.fixture.lifecycle.progress(old.gatedCallId)).state).toBe('granted');
    expect(await steps.toTheClaim(young)).toMatchObject({ kind: 'claimed' });
  });

  it('is not claimed before database and engine were compared', async () => {
    const granted = await own.fixture.granted();
    const steps = stepsIn({ restores: { ...NEVER_RESTORED, isCompared: () => false } }, own.fixture.lifecycle);
    expect(await steps.toTheClaim(granted)).toMatchObject({ kind: 'retry' });
  });
});
