import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Pool } from 'pg';
import { createPool } from '../../apps/shared/database/pool.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { anOpening } from '../support/gated-calls.ts';
import { lives, repeated } from '../support/lives.ts';
import { NetProxy } from '../support/net-proxy.ts';
import { systemTime } from '../support/time.ts';

/** Each commit of a call's life by the statement that makes it. */
const COMMITS = [
  ['the opening', 'open-gated-call'],
  ['the handle', 'attach-handle'],
  ['the grant', 'grant-approval'],
  ['the decision', 'record-decision'],
  ['the claim', 'claim-execution'],
  ['the permit', 'begin-invocation'],
  ['the result', 'settle-execution'],
] as const;
const WHEN = ['before', 'after'] as const;

describe('a connection that breaks around a commit', () => {
  let db: TestDatabase;
  let pool: Pool;
  const proxy = new NetProxy();
  beforeAll(async () => {
    db = await createTestDatabase();
    pool = createPool(await proxy.listen(db.url), { ...systemTime, applicationName: 'behind the proxy' });
  });
  afterAll(async () => {
    await pool.end();
    await proxy.close();
    await db.drop();
  });

  const count = async (table: string, gatedCallId: string) => {
    const text = `SELECT count(*)::int AS n FROM gateway.${table} WHERE gated_call_id = $1`;
    return (await db.pool.query<{ n: number }>(text, [gatedCallId])).rows[0]?.n;
  };

  describe.each(COMMITS)('that of %s', (_commit, statement) => {
    it.each(WHEN)('(%s it is made): the call runs once all the same, and its result is known', async (when) => {
      const { open, drive, view, ledger, requests } = lives(pool);
      const cut = proxy.cut({ statement, when });
      const call = await open();
      await drive(call);
      await cut;
      expect(await view(call.taskId)).toMatchObject({ state: 'executed', result: '{"content":[]}' });
      expect([ledger.get(call.path), requests.size]).toEqual([1, 1]);
      for (const table of [
        'submission',
        'approval',
        'execution_claim',
        'invocation',
        'call_result',
        'outcome_record',
      ]) {
        expect([table, await count(table, call.gatedCallId)]).toEqual([table, 1]);
      }
    });

    it('three times in a row before it is made: the same', async () => {
      const { open, drive, view, ledger, requests } = lives(pool);
      const cut = proxy.cut({ statement, when: 'before', times: 3 });
      const call = await open();
      await drive(call);
      await cut;
      expect(await view(call.taskId)).toMatchObject({ state: 'executed' });
      expect([ledger.get(call.path), requests.size]).toEqual([1, 1]);
    });
  });

  it.each(WHEN)(
    'that of a further request (%s it is made): there is one more, and the call runs once',
    async (when) => {
      const { open, drive, view, ledger, requests } = lives(pool, { approvals: 2 });
      const cut = proxy.cut({ statement: 'request-again', when });
      const call = await open();
      await drive(call);
      await cut;
      expect(await view(call.taskId)).toMatchObject({ state: 'executed' });
      expect([ledger.get(call.path), requests.size]).toEqual([1, 2]);
      expect([await count('submission', call.gatedCallId), await count('approval', call.gatedCallId)]).toEqual([2, 2]);
      expect(await count('execution_claim', call.gatedCallId)).toBe(1);
    },
  );

  it.each(WHEN)('that of a cancellation (%s it is made): who repeats it is told how it stands', async (when) => {
    const { open, drive, view, calls, ledger } = lives(pool);
    const call = await open();
    const cut = proxy.cut({ statement: 'cancel', when });
    await expect(calls.cancel(call.gatedCallId)).rejects.toMatchObject({ code: 'ERR_DATABASE_UNAVAILABLE' });
    await cut;
    expect(await view(call.taskId)).toMatchObject({ state: when === 'after' ? 'cancelled' : 'pending' });
    expect(await repeated(() => calls.cancel(call.gatedCallId))).toBe('cancelled');
    await drive(call);
    expect([(await view(call.taskId))?.state, ledger.size]).toEqual(['cancelled', 0]);
    expect(await count('outcome_record', call.gatedCallId)).toBe(1);
  });

  it('that of the opening, for one who opens and sees nothing of it: it is his own call that he finds', async () => {
    const { calls } = lives(pool);
    const opening = anOpening();
    const cut = proxy.cut({ statement: 'open-gated-call', when: 'after' });
    const opened = await calls.open(opening);
    await cut;
    expect(opened).toMatchObject({ kind: 'opened', submission: { generation: 1 } });
    expect(await calls.open(opening)).toMatchObject({ kind: 'joined', taskId: 'taskId' in opened && opened.taskId });
  });

  it.each([
    ['before', 'unwanted', 'opened'],
    ['after', 'opened', 'joined'],
  ] as const)(
    'that of the opening (%s it is made), for one who has gone by then: it is %s, and who comes back has it %s',
    async (when, found, later) => {
      const { calls } = lives(pool);
      const opening = anOpening();
      const gone = new AbortController();
      const cut = proxy.cut({ statement: 'open-gated-call', when }).then(() => gone.abort());
      expect(await calls.open(opening, gone.signal)).toMatchObject({ kind: found });
      await cut;
      expect(await calls.open(opening)).toMatchObject({ kind: later });
    },
  );
});
