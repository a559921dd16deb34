import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { Pool, PoolClient } from 'pg';
import { createPool } from '../../apps/shared/database/pool.ts';
import { ownerKey } from '../../workflows/domain/principal.ts';
import { expectInvariants } from '../invariants/check-invariants.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { anApproval, anOpening, CALLER, gatedCallFixture } from '../support/gated-calls.ts';
import { lives, repeated } from '../support/lives.ts';
import { inParallel, times } from '../support/regime.ts';
import { waitFor } from '../support/wait-for.ts';
import { ordinaryTime } from '../support/time.ts';

const AWAY = { code: 'ERR_DATABASE_UNAVAILABLE' };
let db: TestDatabase;
let fixture: ReturnType<typeof gatedCallFixture>;
/** The same for a client that gives up as soon as the product does. */
let hasty: ReturnType<typeof gatedCallFixture>;
let hastyPool: Pool;
beforeAll(async () => {
  db = await createTestDatabase({ max: 20 });
  fixture = gatedCallFixture(db.pool, { maxOpenPerCaller: 100_000 });
  hastyPool = createPool(db.url, { ...ordinaryTime, applicationName: 'hasty' });
  hasty = gatedCallFixture(hastyPool);
});
afterAll(async () => {
  try {
    await expectInvariants(db.pool);
  } finally {
    await hastyPool.end();
    await db.drop();
  }
});

/** A session outside of the product, in a transaction that takes its time. */
async function withStray<T>(act: (stray: PoolClient) => Promise<T>): Promise<T> {
  const stray = await db.pool.connect();
  try {
    await stray.query('BEGIN');
    await stray.query("SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL deadlock_timeout = '20s'");
    return await act(stray);
  } finally {
    // The connection may be in any state, so it is not used again.
    stray.release(true);
  }
}
const waitingForLocks = async (count: number) => {
  const text = `SELECT count(*)::int AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
  const { rows } = await db.pool.query<{ n: number }>(text);
  return (rows[0]?.n ?? 0) >= count;
};
const claimOf = async (gatedCallId: string) => {
  const decisionId = await fixture.allow(gatedCallId);
  return { gatedCallId, generation: 1, epoch: 1, decisionId, claimId: decisionId, executionTimeoutMs: 60_000 };
};

describe('a stray session that holds the row of a call while its approval ends', () => {
  const CHANGES = {
    nothing: 'SELECT 1',
    'the row': 'UPDATE gateway.gated_call SET last_updated_at = clock_timestamp() WHERE id = $1',
  } as const;

  it.each([
    ['changes nothing, and rolls back', 'nothing', 'ROLLBACK'],
    ['changes nothing, and commits', 'nothing', 'COMMIT'],
    ['changes the row, and rolls back', 'the row', 'ROLLBACK'],
    ['changes the row, and commits', 'the row', 'COMMIT'],
  ] as const)('%s: no worker can claim afterwards, and the task is shown all the time', async (_case, change, end) => {
    const call = await fixture.granted();
    const claim = await claimOf(call.gatedCallId);
    const soon = `UPDATE gateway.gated_call SET approval_expires_at = clock_timestamp() + interval '1200 ms' WHERE id = $1
      RETURNING approval_expires_at AS ends`;
    const { ends } = (await db.pool.query<{ ends: Date }>(soon, [call.gatedCallId])).rows[0] ?? {};
    await withStray(async (stray) => {
      await stray.query('SELECT 1 FROM gateway.gated_call WHERE id = $1 FOR UPDATE', [call.gatedCallId]);
      await stray.query(CHANGES[change], change === 'nothing' ? [] : [call.gatedCallId]);
      // The worker waits too long for the row, which is no answer, so it asks again.
      const claimed = repeated(() => hasty.lifecycle.claim(claim));
      const expired = repeated(() => hasty.lifecycle.expire(call.gatedCallId));
      await expect(hasty.lifecycle.claim(claim)).rejects.toMatchObject(AWAY);
      expect(Date.now()).toBeGreaterThan(Number(ends));
      const shown = await repeated(() => hasty.calls.findTask(call.taskId, ownerKey(CALLER)));
      expect(shown).toMatchObject({ state: 'granted' });
      await stray.query(end);
      expect([await claimed, await expired]).toEqual(['lost', 'denied']);
    });
    const { rows } = await db.pool.query('SELECT 1 FROM gateway.execution_claim WHERE gated_call_id = $1', [
      call.gatedCallId,
    ]);
    expect(rows).toEqual([]);
    const seen = await fixture.calls.findTask(call.taskId, ownerKey(CALLER));
    expect(seen).toMatchObject({ state: 'denied', reason: 'approval_expired' });
  });
});

describe('a claim that falls victim', () => {
  /** A claim that fell victim to a deadlock; undefined when the other session did. */
  async function crossed() {
    const { gatedCallId } = await fixture.granted();
    const claim = await claimOf(gatedCallId);
    return withStray(async (stray) => {
      // The claim locks the call and then its decision; this session locks them in the opposite order.
      await stray.query('SELECT 1 FROM gateway.decision WHERE id = $1 FOR UPDATE', [claim.decisionId]);
      const claiming = fixture.lifecycle.claim(claim).catch((error: unknown) => error);
      await waitFor(() => waitingForLocks(1));
      const text = 'SELECT 1 FROM gateway.gated_call WHERE id = $1 FOR UPDATE';
      const crossing = stray.query(text, [gatedCallId]).then(
        () => true,
        () => false,
      );
      const found = await claiming;
      if (!(await crossing)) return undefined;
      expect(found).toMatchObject({ ...AWAY, cause: { code: '40P01' } });
      await stray.query('ROLLBACK');
      return claim;
    });
  }

  it('to a deadlock is not lost: it is made again', async () => {
    let claim = await crossed();
    // The claim checks once for a deadlock, a second after it began to wait. If the machine stood still then, the stray
    // session found the deadlock and was its only victim.
    while (claim === undefined) claim = await crossed();
    expect((await fixture.lifecycle.load(claim.gatedCallId)).state).toBe('granted');
    expect(await fixture.claim(claim.gatedCallId, claim.claimId)).toBe('won');
  });

  it('to a row that is held for too long is not lost: it is made again', async () => {
    const call = await fixture.granted();
    const claim = await claimOf(call.gatedCallId);
    await withStray(async (stray) => {
      await stray.query('SELECT 1 FROM gateway.gated_call WHERE id = $1 FOR UPDATE', [call.gatedCallId]);
      await expect(hasty.lifecycle.claim(claim)).rejects.toMatchObject({ ...AWAY, cause: { code: '55P03' } });
      await stray.query('COMMIT');
    });
    expect(await fixture.claim(call.gatedCallId, claim.claimId)).toBe('won');
  });
});

describe('a crowd', () => {
  it('of 1,000 cancellations and one claim has one winner, every time', async () => {
    for (let round = 0; round < times(3, 30); round += 1) {
      const call = await fixture.granted();
      const claim = await claimOf(call.gatedCallId);
      const cancel = () => repeated(() => fixture.calls.cancel(call.gatedCallId));
      const half = Array.from({ length: 500 }, cancel);
      // The claim asks in the middle, so that either may win. The pool hands connections out in the order of asking.
      const claimed = repeated(() => fixture.lifecycle.claim(claim));
      const states = await Promise.all([...half, ...Array.from({ length: 500 }, cancel)]);
      const { state } = await fixture.lifecycle.load(call.gatedCallId);
      expect(['cancelled', 'claimed']).toContain(state);
      expect((await claimed) === 'won').toBe(state === 'claimed');
      expect(new Set(states)).toEqual(new Set([state]));
    }
  }, 600_000);

  it('of 200 identical calls of one caller gets one task and one request, and of two callers two of each', async () => {
    const { calls, ensureSubmitted, requests } = lives(db.pool);
    const caller = { ...CALLER, subject: randomUUID() };
    const args = { path: randomUUID(), content: 'x' };
    const call = async (by: typeof caller) => {
      const opened = await calls.open(anOpening({ args, caller: by }));
      if (!('taskId' in opened)) throw new Error(opened.kind);
      await ensureSubmitted(opened);
      return opened.taskId;
    };
    const tasks = await Promise.all(Array.from({ length: 200 }, () => repeated(() => call(caller))));
    expect([new Set(tasks).size, requests.size]).toEqual([1, 1]);
    const other = { ...caller, subject: randomUUID() };
    const mixed = await Promise.all(
      Array.from({ length: 200 }, (_, index) => repeated(() => call(index % 2 === 0 ? caller : other))),
    );
    expect([new Set(mixed).size, requests.size]).toEqual([2, 2]);
    expect(mixed[0]).toBe(tasks[0]);
    expect(mixed[1]).not.toBe(mixed[0]);
    expect(await calls.findTask(mixed[1] ?? '', ownerKey(caller))).toBeUndefined();
  });

  it('of approval, cancellation and expiry within milliseconds of each other has one winner for each call', async () => {
    const states = new Map<string, number>();
    const soon = () => new Promise((resolve) => setTimeout(resolve, Math.random() * 10));
    const round = async (index: number) => {
      const call = await fixture.pending();
      const grant = () => fixture.lifecycle.grant(call.gatedCallId, 1, anApproval());
      const began = performance.now();
      // In half of the rounds the claim races, in the others the approval before it.
      if (index % 2 === 0) await grant();
      const decided = await claimOf(call.gatedCallId);
      const clock = index % 2 === 0 ? 'approval_expires_at' : 'request_deadline';
      const deadline = `UPDATE gateway.gated_call SET ${clock} = clock_timestamp() + $2 * interval '1 ms' WHERE id = $1`;
      // By then the rivals are there, even on a slow machine.
      await db.pool.query(deadline, [call.gatedCallId, Math.random() * (15 + performance.now() - began)]);
      const claim = async () => {
        await soon();
        if (index % 2 === 1 && (await grant()) !== 'granted') return 'lost';
        return fixture.lifecycle.claim(decided);
      };
      const [claimed] = await Promise.all([
        claim(),
        soon().then(() => fixture.calls.cancel(call.gatedCallId)),
        soon().then(() => fixture.lifecycle.expire(call.gatedCallId)),
      ]);
      const { state } = await fixture.lifecycle.load(call.gatedCallId);
      expect(claimed === 'won').toBe(state === 'claimed');
      states.set(state, (states.get(state) ?? 0) + 1);
    };
    const rounds = times(300, 10_000);
    await inParallel(rounds, 6, round);
    expect([...states.values()].reduce((sum, count) => sum + count, 0)).toBe(rounds);
    // It was a race: each of them won at least once.
    expect([...states.keys()].sort()).toEqual(['cancelled', 'claimed', 'denied']);
  }, 900_000);
});

describe('callbacks', () => {
  const deliver = (webhookId: string, accessRequestId: string, bodyDigest = 'sha-256:a') =>
    fixture.calls.acceptCallback({ webhookId, bodyDigest, accessRequestId });
  const signals = async (gatedCallId: string) => {
    const text = `SELECT count(*)::int AS n FROM gateway.outbox WHERE kind = 'signal_workflow' AND subject_id = $1`;
    return (await db.pool.query<{ n: number }>(text, [gatedCallId])).rows[0]?.n;
  };

  it('that come a hundred times, in any order, signal once for each message and decide nothing', async () => {
    const call = await fixture.pending();
    const request = `arq_${call.gatedCallId}`;
    const ids = Array.from({ length: 10 }, () => `msg_${randomUUID()}`);
    const all = ids.flatMap((id) => Array.from({ length: 10 }, () => id)).sort(() => Math.random() - 0.5);
    const verdicts = await Promise.all(all.map((id) => repeated(() => deliver(id, request))));
    expect(verdicts.filter((verdict) => verdict === 'accepted')).toHaveLength(10);
    expect(verdicts.filter((verdict) => verdict === 'repeated')).toHaveLength(90);
    expect(await deliver(ids[0] ?? '', request, 'sha-256:b')).toBe('conflict');
    expect(await signals(call.gatedCallId)).toBe(10);
    expect((await fixture.lifecycle.load(call.gatedCallId)).state).toBe('pending');
  });

  it('that come after the end, or for an unknown request, are accepted and do nothing', async () => {
    const call = await fixture.pending();
    await fixture.calls.cancel(call.gatedCallId);
    const before = await signals(call.gatedCallId);
    expect(await deliver(randomUUID(), `arq_${call.gatedCallId}`)).toBe('accepted');
    expect(await deliver(randomUUID(), 'arq_unknown')).toBe('accepted');
    expect(await signals(call.gatedCallId)).toBe(before);
    expect((await fixture.lifecycle.load(call.gatedCallId)).state).toBe('cancelled');
  });
});
