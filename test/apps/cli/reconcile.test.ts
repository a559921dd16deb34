import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { reconcileAfterRestore } from '../../../apps/cli/commands/reconcile/after-restore.ts';
import { createTemporalClient } from '../../../apps/shared/temporal/connection.ts';
import { createGatedCallWorkflows } from '../../../apps/shared/temporal/gated-call-workflows.ts';
import { ownCalls } from '../../support/own-calls.ts';
import { testTemporal } from '../../support/temporal.ts';
import { waitFor } from '../../support/wait-for.ts';

const RETENTION_MS = 60_000;

describe('reconciling a database that may have lost rows', () => {
  const own = ownCalls();
  let engine!: ReturnType<typeof createTemporalClient>;
  let workflows!: ReturnType<typeof createGatedCallWorkflows>;
  beforeAll(async () => {
    const temporal = await testTemporal();
    engine = createTemporalClient({ ...temporal, tls: false });
    workflows = createGatedCallWorkflows(engine.client, { taskQueue: temporal.taskQueue, restMs: 3_600_000 });
  });
  afterAll(() => engine.close());

  const stateOf = async (id: string) => (await own.fixture.lifecycle.progress(id)).state;
  const reconcile = () =>
    reconcileAfterRestore(own.db.url, engine.client, { retentionMs: RETENTION_MS, onProgress: () => undefined });
  const started = async (id: string) => {
    await workflows.start(id);
    await waitFor(async () => {
      for await (const running of workflows.running()) if (running === id) return true;
      return false;
    });
  };

  it('takes no claim without a permit for a proof that nothing was sent, unless the engine saw all of it', async () => {
    const { fixture } = own;
    const forgotten = await fixture.claimed();
    const seen = await fixture.claimed();
    await started(seen.gatedCallId);
    const permitted = await fixture.claimed();
    const permit = { invocationId: randomUUID(), upstreamKey: randomUUID() };
    expect(await fixture.lifecycle.beginInvocation({ ...permitted, ...permit })).toBe(true);
    const waits = await fixture.pending();

    expect(await reconcile()).toEqual({ epoch: 2, open: 4, settled: 1, ended: 0, withoutWitness: 3 });

    expect(await stateOf(forgotten.gatedCallId)).toBe('outcome_unknown');
    const late = { invocationId: randomUUID(), upstreamKey: randomUUID() };
    expect(await fixture.lifecycle.beginInvocation({ ...forgotten, ...late })).toBe(false);
    expect(await Promise.all([seen, permitted, waits].map(({ gatedCallId }) => stateOf(gatedCallId)))).toEqual([
      'claimed',
      'claimed',
      'pending',
    ]);
  });
});
