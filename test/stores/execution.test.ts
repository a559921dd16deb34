import { describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { databaseNow } from '../../activities/stores/stored-call.ts';
import { anApproval, gatedCallFixture } from '../support/gated-calls.ts';
import { ownCalls } from '../support/own-calls.ts';
import { waitFor } from '../support/wait-for.ts';
import { systemTime } from '../support/time.ts';

describe('execution fences', () => {
  const own = ownCalls();

  const stateOf = async (id: string) => (await own.fixture.lifecycle.load(id)).state;
  const permit = (call: { gatedCallId: string; claimId: string }, invocationId = randomUUID()) =>
    own.fixture.lifecycle.beginInvocation({ ...call, invocationId, upstreamKey: randomUUID() });

  it('lets exactly one of claim, cancel and expiry win, 200 times [APPR-214]', async () => {
    const short = gatedCallFixture(own.db.pool, { requestTtlMs: 3_600_000 });
    await Promise.all(
      Array.from({ length: 200 }, async (_, index) => {
        const { gatedCallId } = await short.granted();
        const decisionId = await short.allow(gatedCallId);
        // A deadline in this instant makes expiry compete in earnest.
        if (index % 3 === 0) {
          await own.db.pool.query(
            'UPDATE gateway.gated_call SET approval_expires_at = clock_timestamp() WHERE id = $1',
            [gatedCallId],
          );
        }
        const claim = {
          gatedCallId,
          generation: 1,
          epoch: 1,
          decisionId,
          claimId: randomUUID(),
          executionTimeoutMs: 60_000,
        };
        const [claimed] = await Promise.all([
          short.lifecycle.claim(claim),
          short.calls.cancel(gatedCallId),
          short.lifecycle.expire(gatedCallId),
        ]);
        const state = await stateOf(gatedCallId);
        expect(['claimed', 'cancelled', 'denied']).toContain(state);
        expect(claimed === 'won').toBe(state === 'claimed');
        if (index % 3 === 0) expect(state).not.toBe('claimed');
      }),
    );
    const both = await own.db.pool.query(
      `SELECT 1 FROM gateway.gated_call g JOIN gateway.execution_claim e ON e.gated_call_id = g.id WHERE g.state IN ('cancelled','denied')`,
    );
    expect(both.rows).toHaveLength(0);
  });

  it.each(['ROLLBACK', 'COMMIT'])('loses a claim that waited for the row past the deadline (%s)', async (end) => {
    const { gatedCallId } = await own.fixture.granted();
    const decisionId = await own.fixture.allow(gatedCallId);
    const soon = `UPDATE gateway.gated_call SET approval_expires_at = clock_timestamp() + interval '700 ms' WHERE id = $1
      RETURNING approval_expires_at AS ends`;
    const { ends } = (await own.db.pool.query<{ ends: Date }>(soon, [gatedCallId])).rows[0] ?? {};
    const blocker = await own.db.pool.connect();
    try {
      await blocker.query('BEGIN');
      await blocker.query('SELECT 1 FROM gateway.gated_call WHERE id = $1 FOR UPDATE', [gatedCallId]);
      const claim = own.fixture.lifecycle.claim({
        gatedCallId,
        generation: 1,
        epoch: 1,
        decisionId,
        claimId: randomUUID(),
        executionTimeoutMs: 60_000,
      });
      await waitFor(() => Date.now() > Number(ends));
      await blocker.query(end);
      expect(await claim).toBe('lost');
    } finally {
      blocker.release();
    }
    expect(await own.fixture.lifecycle.expire(gatedCallId)).toBe('denied');
  });

  it('finds its own claim again when it is repeated, and refuses another', async () => {
    const { gatedCallId } = await own.fixture.granted();
    const claimId = randomUUID();
    expect(await own.fixture.claim(gatedCallId, claimId)).toBe('won');
    expect(await own.fixture.claim(gatedCallId, claimId)).toBe('mine');
    expect(await own.fixture.claim(gatedCallId, randomUUID())).toBe('lost');
  });

  it('claims only for a fresh allow decision on the same call', async () => {
    const { gatedCallId } = await own.fixture.granted();
    const call = await own.fixture.lifecycle.load(gatedCallId);
    const claimWith = (decisionId: string) =>
      own.fixture.lifecycle.claim({
        gatedCallId,
        generation: 1,
        epoch: 1,
        decisionId,
        claimId: randomUUID(),
        executionTimeoutMs: 1_000,
      });
    const denied = await own.fixture.lifecycle.recordDecision(
      call,
      { kind: 'deny' },
      databaseNow(call, systemTime.clock),
    );
    expect(await claimWith(denied)).toBe('stale');
    const foreign = await own.fixture.allow((await own.fixture.granted()).gatedCallId);
    expect(await claimWith(foreign)).toBe('stale');
    const old = await own.fixture.lifecycle.recordDecision(
      call,
      { kind: 'allow' },
      databaseNow(call, systemTime.clock) - 5_001,
    );
    expect(await claimWith(old)).toBe('stale');
    expect(await stateOf(gatedCallId)).toBe('granted');
  });

  it('gives one permit of 100 asked for at once [AT-2]', async () => {
    const call = await own.fixture.claimed();
    const given = await Promise.all(Array.from({ length: 100 }, () => permit(call)));
    expect(given.filter(Boolean)).toHaveLength(1);
  });

  it('gives no permit past the deadline of the claim, and none for a claim that was given up', async () => {
    const late = await own.fixture.claimed(1);
    await waitFor(async () => (await own.fixture.lifecycle.load(late.gatedCallId)).remainingMs <= 0);
    expect(await permit(late)).toBe(false);
    expect(await own.fixture.lifecycle.expire(late.gatedCallId)).toBe('granted');
    expect(await permit(late)).toBe(false);
  });

  it('ends as outcome_unknown at the execution deadline when the permit was given, and stays so', async () => {
    const call = await own.fixture.claimed();
    const invocationId = randomUUID();
    expect(await permit(call, invocationId)).toBe(true);
    await own.fixture.endExecution(call);
    expect(await own.fixture.lifecycle.expire(call.gatedCallId)).toBe('outcome_unknown');
    const late = { isError: false, text: '{}' };
    expect(
      await own.fixture.lifecycle.settleResult(
        { gatedCallId: call.gatedCallId, invocationId: invocationId, cause: 'result' },
        late,
      ),
    ).toBe('outcome_unknown');
  });

  it('settles only by the invocation that has the permit', async () => {
    const call = await own.fixture.claimed();
    const invocationId = randomUUID();
    await permit(call, invocationId);
    const result = { isError: false, text: '{"content":[]}' };
    expect(
      await own.fixture.lifecycle.settleResult(
        { gatedCallId: call.gatedCallId, invocationId: randomUUID(), cause: 'result' },
        result,
      ),
    ).toBe('claimed');
    expect(
      await own.fixture.lifecycle.settleResult(
        { gatedCallId: call.gatedCallId, invocationId: invocationId, cause: 'result' },
        result,
      ),
    ).toBe('executed');
    expect(await own.fixture.lifecycle.settleNotSent(call.gatedCallId, invocationId)).toBe('executed');
  });

  it('never cancels a claimed call', async () => {
    const call = await own.fixture.claimed();
    expect(await own.fixture.calls.cancel(call.gatedCallId)).toBe('claimed');
  });

  it('denies a grant that is already over, and ignores a grant for another generation', async () => {
    const over = await own.fixture.pending();
    const past = anApproval({ approvedUntil: new Date(Date.now() - 1_000).toISOString() });
    expect(await own.fixture.lifecycle.grant(over.gatedCallId, 1, past)).toBe('denied');
    const call = await own.fixture.pending();
    expect(await own.fixture.lifecycle.grant(call.gatedCallId, 2, anApproval())).toBe('pending');
  });

  it('refuses a transition outside of the table, from any writer', async () => {
    const call = await own.fixture.pending();
    const jump = (to: string) =>
      own.db.pool.query(`UPDATE gateway.gated_call SET state = $2 WHERE id = $1`, [call.gatedCallId, to]);
    await expect(jump('executed')).rejects.toMatchObject({ code: 'CS001' });
    await own.fixture.calls.cancel(call.gatedCallId);
    await expect(jump('pending')).rejects.toMatchObject({ code: 'CS001' });
  });

  describe('once its call was settled', () => {
    const settled = async () => {
      const call = await own.fixture.claimed();
      const invocationId = randomUUID();
      await permit(call, invocationId);
      await own.fixture.lifecycle.settleNotSent(call.gatedCallId, invocationId);
      const of = { gatedCallId: call.gatedCallId, invocationId, cause: 'result' } as const;
      await own.fixture.lifecycle.settleResult(of, { isError: false, text: '{}' });
      return call.gatedCallId;
    };
    const NEVER_CHANGED = ['call_binding', 'decision', 'approval', 'execution_claim', 'invocation', 'late_evidence'];
    const NEVER_DELETED = ['execution_claim', 'invocation', 'call_event', 'outcome_record'];

    it.each([...NEVER_CHANGED, 'call_event', 'outcome_record'])('a row of %s never changes', async (table) => {
      const change = own.db.pool.query(
        `UPDATE gateway.${table} SET gated_call_id = gated_call_id WHERE gated_call_id = $1`,
        [await settled()],
      );
      await expect(change).rejects.toMatchObject({ code: 'CS002' });
    });

    it.each(NEVER_DELETED)('a row of %s is never deleted', async (table) => {
      const deletion = own.db.pool.query(`DELETE FROM gateway.${table} WHERE gated_call_id = $1`, [await settled()]);
      await expect(deletion).rejects.toMatchObject({ code: 'CS002' });
    });
  });

  it('keeps the names and the time of an unused permit', async () => {
    const call = await own.fixture.claimed();
    await permit(call, randomUUID());
    for (const change of ['invocation_id = gen_random_uuid()', "upstream_key = 'other'", 'began_at = now()']) {
      const changed = own.db.pool.query(`UPDATE gateway.invocation SET ${change} WHERE gated_call_id = $1`, [
        call.gatedCallId,
      ]);
      await expect(changed).rejects.toMatchObject({ code: 'CS002' });
    }
  });
});
