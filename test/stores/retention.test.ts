import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { createDueCalls } from '../../activities/stores/due-calls.ts';
import { ownerKey } from '../../workflows/domain/principal.ts';
import { CALLER } from '../support/gated-calls.ts';
import { ownCalls } from '../support/own-calls.ts';

const CONTENT = ['call_binding', 'submission', 'approval', 'call_result'];
const PROOF = ['outcome_record', 'execution_claim', 'invocation', 'call_event', 'decision'];

describe('retention', () => {
  const own = ownCalls();

  async function executed() {
    const call = await own.fixture.claimed();
    const invocationId = randomUUID();
    await own.fixture.lifecycle.beginInvocation({ ...call, invocationId, upstreamKey: randomUUID() });
    const of = { gatedCallId: call.gatedCallId, invocationId, cause: 'result' } as const;
    await own.fixture.lifecycle.settleResult(of, { isError: false, text: '{"content":[]}' });
    return call;
  }
  const cancel = async <Call extends { gatedCallId: string }>(call: Call) => {
    await own.fixture.calls.cancel(call.gatedCallId);
    return call;
  };
  const deny = async <Call extends { gatedCallId: string }>(call: Call) => {
    await own.db.pool.query(`SELECT gateway.end_unclaimed($1, 'denied', 'policy_denied', 're-evaluation', 3600000)`, [
      call.gatedCallId,
    ]);
    return call;
  };
  const endRetention = (ids: string[]) =>
    own.db.pool.query('UPDATE gateway.gated_call SET retain_until = now() WHERE id = ANY ($1::uuid[])', [ids]);
  const countsOf = async (tables: string[], id: string) => {
    const counts = tables.map((table) =>
      own.db.pool
        .query(`SELECT FROM gateway.${table} WHERE gated_call_id = $1`, [id])
        .then(({ rowCount }) => rowCount ?? 0),
    );
    return Promise.all(counts);
  };

  it('forgets the content of an ended call, destroys its key, and keeps the record with its proof', async () => {
    const call = await executed();
    expect(Math.min(...(await countsOf([...CONTENT, ...PROOF], call.gatedCallId)))).toBeGreaterThan(0);
    const kept = await countsOf(PROOF, call.gatedCallId);
    await endRetention([call.gatedCallId]);
    expect(await createDueCalls(own.db.pool).forget(10)).toBe(1);
    expect(await countsOf(CONTENT, call.gatedCallId)).toEqual([0, 0, 0, 0]);
    expect(await countsOf(PROOF, call.gatedCallId)).toEqual(kept);
    const keys = await own.db.pool.query('SELECT call_key, record_key FROM gateway.data_key WHERE gated_call_id = $1', [
      call.gatedCallId,
    ]);
    expect(keys.rows).toEqual([{ call_key: null, record_key: expect.any(String) }]);
    expect(await createDueCalls(own.db.pool).forget(10)).toBe(0);
  });

  it.each<[end: string, bring: () => Promise<{ gatedCallId: string }>]>([
    ['executed', executed],
    ['cancelled', () => own.fixture.pending().then(cancel)],
    ['cancelled', () => own.fixture.granted().then(cancel)],
    ['denied', () => own.fixture.granted().then(deny)],
  ])('starts with the end of a call that is %s, however long the call could have waited', async (end, bring) => {
    const { gatedCallId } = await bring();
    const { rows } = await own.db.pool.query(
      `SELECT state, extract(epoch FROM retain_until - ended_at) AS kept FROM gateway.gated_call WHERE id = $1`,
      [gatedCallId],
    );
    expect(rows[0].state).toBe(end);
    // The clock is read twice, and a machine may stand still in between. Counted from the latest end, it would be two hours.
    expect(Math.abs(Number(rows[0].kept) - 3_600)).toBeLessThan(60);
  });

  it('keeps open calls of any age, and ended ones in their retention time [TASK-039]', async () => {
    const [open, claimed, ended] = [await own.fixture.pending(), await own.fixture.claimed(), await executed()];
    await endRetention([open.gatedCallId, claimed.gatedCallId]);
    expect(await createDueCalls(own.db.pool).forget(10)).toBe(0);
    for (const { gatedCallId } of [open, claimed, ended]) {
      expect(await countsOf(['call_binding', 'submission'], gatedCallId)).toEqual([1, 1]);
    }
  });

  it('shows a task completely or not at all while it is being forgotten', async () => {
    const calls = await Promise.all(Array.from({ length: 60 }, executed));
    await own.db.pool.query(
      `UPDATE gateway.gated_call SET retain_until = now() + interval '1 hour' WHERE id = ANY ($1::uuid[])`,
      [calls.map(({ gatedCallId }) => gatedCallId)],
    );
    const look = async (taskId: string) => {
      for (;;) {
        const task = await own.fixture.calls.findTask(taskId, ownerKey(CALLER));
        if (task === undefined) return;
        expect(task).toMatchObject({ state: 'executed', result: '{"content":[]}', outcomeRef: expect.any(String) });
      }
    };
    const forget = async () => {
      for (const { gatedCallId } of calls) {
        await endRetention([gatedCallId]);
        await createDueCalls(own.db.pool).forget(1);
      }
    };
    await Promise.all([
      forget(),
      ...calls.slice(0, 8).map(({ taskId }) => look(taskId)),
      look(calls.at(-1)?.taskId ?? ''),
    ]);
  });
});
