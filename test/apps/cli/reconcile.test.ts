import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { reconcileAfterRestore } from '../../../apps/cli/commands/reconcile/after-restore.ts';
import { createTemporalClient } from '../../../apps/shared/temporal/connection.ts';
import { createEngineMemory } from '../../../apps/shared/temporal/fence-mark.ts';
import { createGatedCallWorkflows } from '../../../apps/shared/temporal/gated-call-workflows.ts';
import { ownCalls } from '../../support/own-calls.ts';
import { testTemporal } from '../../support/temporal.ts';
import { waitFor } from '../../support/wait-for.ts';
import { systemTime } from '../../support/time.ts';

const RETENTION_MS = 60_000;

describe('reconciling a database that may have lost rows', () => {
  const own = ownCalls();
  let engine!: ReturnType<typeof createTemporalClient>;
  let workflows!: ReturnType<typeof createGatedCallWorkflows>;
  beforeAll(async () => {
    const temporal = await testTemporal();
    engine = createTemporalClient({ ...temporal, tls: false });
    workflows = createGatedCallWorkflows(engine.client, {
      ...systemTime,
      taskQueue: temporal.taskQueue,
    });
  });
  afterAll(() => engine.close());

  const stateOf = async (id: string) => (await own.fixture.lifecycle.progress(id)).state;
  const fenceOf = async () => {
    const text = 'SELECT gateway.fence_state() AS state, number AS epoch, installation FROM gateway.epoch';
    const { rows } = await own.db.pool.query<{ state: string; epoch: number; installation: string }>(text);
    return rows[0] ?? { state: '', epoch: 0, installation: '' };
  };
  const reconcile = (temporal: 'kept' | 'lost' = 'kept', lines: Record<string, unknown>[] = []) =>
    reconcileAfterRestore({
      ...{ databaseUrl: own.db.url, engine: temporal === 'kept' ? engine.client : undefined },
      ...systemTime,
      ...{ retentionMs: RETENTION_MS, onProgress: () => undefined },
      log: pino({}, { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) }),
    });
  const mark = async (epoch: number, claims = 0) =>
    createEngineMemory(engine.client, systemTime).writeMark((await fenceOf()).installation, { epoch, claims });
  const started = async (id: string) => {
    await workflows.start(id);
    await waitFor(async () => {
      for await (const running of workflows.running()) if (running === id) return true;
      return false;
    });
  };
  const givenUp = async (id: string) => {
    const text = `SELECT 1 FROM gateway.outbox WHERE subject_id = $1 AND kind = 'cancel_access_request'`;
    return (await own.db.pool.query(text, [id])).rows.length > 0;
  };

  it('takes a missing permit as proof of an unsent call only when the engine saw the whole time', async () => {
    const { fixture } = own;
    const forgotten = await fixture.claimed();
    const seen = await fixture.claimed();
    await started(seen.gatedCallId);
    const permitted = await fixture.claimed();
    const permit = { invocationId: randomUUID(), upstreamKey: randomUUID() };
    expect(await fixture.lifecycle.beginInvocation({ ...permitted, ...permit })).toBe(true);
    const [waits, unknown] = [await fixture.pending(), await fixture.pending()];
    await started(waits.gatedCallId);
    // The database was restored to a time before its last reconciliation.
    await mark(7, 1_000);

    expect(await reconcile()).toEqual({ epoch: 8, open: 5, settled: 2, ended: 0, withoutWitness: 2 });

    expect(await fenceOf()).toMatchObject({ state: 'whole', epoch: 8 });
    const ended = [forgotten, unknown].map(({ gatedCallId }) => gatedCallId);
    expect(await Promise.all(ended.map(stateOf))).toEqual(['outcome_unknown', 'outcome_unknown']);
    expect(await givenUp(unknown.gatedCallId)).toBe(true);
    const late = { invocationId: randomUUID(), upstreamKey: randomUUID() };
    expect(await fixture.lifecycle.beginInvocation({ ...forgotten, ...late })).toBe(false);
    expect(await Promise.all([seen, permitted, waits].map(({ gatedCallId }) => stateOf(gatedCallId)))).toEqual([
      'claimed',
      'claimed',
      'pending',
    ]);
  });

  it('ends every open call without a permit when the engine was lost too', async () => {
    const [waits, granted] = [await own.fixture.pending(), await own.fixture.granted()];
    await started(waits.gatedCallId);
    const { settled, withoutWitness } = await reconcile('lost');
    expect(settled).toBe(withoutWitness);
    for (const { gatedCallId } of [waits, granted]) {
      expect(await stateOf(gatedCallId)).toBe('outcome_unknown');
      expect(await givenUp(gatedCallId)).toBe(true);
    }
  });

  it("can run again at once, before a worker updates the engine's mark", async () => {
    await mark((await fenceOf()).epoch);
    const { epoch } = await reconcile();
    expect(await reconcile()).toMatchObject({ epoch: epoch + 1 });
    expect(await fenceOf()).toMatchObject({ state: 'whole', epoch: epoch + 1 });
  });

  it('writes a log line for each change of state, with the ids of the call', async () => {
    const { gatedCallId } = await own.fixture.granted();
    const lines: Record<string, unknown>[] = [];
    await reconcile('lost', lines);
    const { taskId: task, trace } = await own.fixture.lifecycle.progress(gatedCallId);
    const ids = { event: 'transition', gatedCall: gatedCallId, task, trace, workflow: `gated-call/${gatedCallId}` };
    expect(lines.filter(({ gatedCall }) => gatedCall === gatedCallId)).toMatchObject([
      { ...ids, from: 'granted', to: 'claimed', cause: 'restore' },
      { ...ids, from: 'claimed', to: 'outcome_unknown', cause: 'restore', reason: 'restored' },
    ]);
  });

  it('keeps all calls frozen when the engine has no mark or an older one, because the engine was lost too', async () => {
    await own.db.pool.query('UPDATE gateway.epoch SET installation = gen_random_uuid()');
    await expect(reconcile()).rejects.toThrow('no mark of this installation');
    const { epoch } = await fenceOf();
    await mark(epoch - 2);
    await expect(reconcile()).rejects.toThrow('Temporal is older than the database');
    expect(await fenceOf()).toMatchObject({ state: 'reconciling', epoch });
  });
});
