import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { WorkflowNotFoundError } from '@temporalio/client';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Worker } from '@temporalio/worker';
import { pino } from 'pino';
import { startPace } from '../../../apps/approvals/pace.ts';
import { packagePath } from '../../../apps/shared/config/package-root.ts';
import { aStage } from '../../support/access-requests.ts';
import { startPacedRequests } from '../../support/paced-requests.ts';
import { waitFor } from '../../support/wait-for.ts';
import { systemTime } from '../../support/time.ts';

const HOUR = 3_600;

describe('an open access request whose workflow is not there', () => {
  let world: Awaited<ReturnType<typeof startPacedRequests>>;
  beforeAll(async () => {
    world = await startPacedRequests();
  });
  afterAll(() => world?.stop());

  /** What runs beside the service, looking for what was lost every now and then. */
  const pace = () => startPace({ ...systemTime, ...world, reconcileIntervalMs: 100, log: pino({ enabled: false }) });
  const open = (stage: Parameters<typeof aStage>[0]) => world.open({ stages: [aStage(stage)] });
  /** Nobody tells the engine of any of it. */
  const pass = async (id: string, seconds: number) => {
    await world.db.pool.query(
      `UPDATE approvals.access_request SET stage_opened_at = stage_opened_at - $2 * interval '1 s',
         stage_ends_at = stage_ends_at - $2 * interval '1 s' WHERE id = $1`,
      [id, seconds],
    );
    await world.db.pool.query('DELETE FROM approvals.outbox WHERE subject_id = $1', [id]);
  };
  const waiting = async (stage: Parameters<typeof aStage>[0]) => {
    const { id } = await open(stage);
    await world.workflows.wake(id);
    await waitFor(() => world.waits(id));
    return id;
  };
  /** Of the workflow; undefined when there is none. */
  const statusOf = (id: string) =>
    world
      .handle(id)
      .describe()
      .then(
        ({ status }) => status.name as string,
        (error: unknown) => {
          if (error instanceof WorkflowNotFoundError) return undefined;
          throw error;
        },
      );
  const remove = async (id: string) => {
    const workflowExecution = { workflowId: world.handle(id).workflowId };
    await world.client.workflowService.deleteWorkflowExecution({ namespace: 'default', workflowExecution });
    await waitFor(async () => (await statusOf(id)) === undefined);
  };
  const events = async (id: string) => (await world.notices(id)).map(({ event }) => event as string);
  const stateOf = async (id: string) =>
    (await world.db.pool.query('SELECT status FROM approvals.access_request WHERE id = $1', [id])).rows[0]?.status;

  it('is reminded of and ended in time: what was deleted, terminated or never begun is started again', async () => {
    const [deleted, terminated] = [
      await waiting({ remindAfterSeconds: [HOUR] }),
      await waiting({ withinSeconds: HOUR }),
    ];
    const { id: neverBegun } = await open({ remindAfterSeconds: [HOUR] });
    const { id: plain } = await open({});
    await remove(deleted);
    await world.handle(terminated).terminate('test');
    for (const id of [deleted, terminated, neverBegun]) await pass(id, HOUR);
    expect([await events(deleted), await events(neverBegun), await stateOf(terminated)]).toEqual([[], [], 'pending']);
    const running = pace();
    try {
      await waitFor(async () => (await events(deleted)).includes('reminder'));
      await waitFor(async () => (await events(neverBegun)).includes('reminder'));
      await waitFor(async () => (await stateOf(terminated)) === 'denied');
    } finally {
      await running.stop();
    }
    expect(await statusOf(plain)).toBeUndefined();
    expect(await events(deleted)).toEqual(['reminder']);
  });

  it('is left to the outbox while that is about to begin its workflow, and to the workflow that runs', async () => {
    const runs = await waiting({ remindAfterSeconds: [HOUR] });
    const { runId } = await world.handle(runs).describe();
    const { id: queued } = await open({ remindAfterSeconds: [HOUR] });
    const { id: lost } = await open({ remindAfterSeconds: [HOUR] });
    await pass(lost, HOUR);
    const running = pace();
    try {
      await waitFor(async () => (await events(lost)).includes('reminder'));
    } finally {
      await running.stop();
    }
    expect((await world.handle(runs).describe()).runId).toBe(runId);
    expect(await statusOf(queued)).toBeUndefined();
  });

  /** Has workflow code that does not fit begin the workflows of these requests. */
  async function beginWrongly(ids: readonly string[]): Promise<void> {
    const { address, namespace, taskQueue } = world.temporal;
    const workflowsPath = packagePath('test', 'fixtures', 'engine', 'incompatible.workflow.ts');
    const workflowBundle = await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('WARN') });
    const connection = await NativeConnection.connect({ address });
    const worker = await Worker.create({ connection, namespace, taskQueue, workflowBundle });
    await worker
      .runUntil(async () => {
        for (const id of ids) await world.workflows.wake(id);
        for (const id of ids) await waitFor(() => world.waits(id));
      })
      .finally(() => connection.close());
  }

  it('gets another workflow for one that cannot go on, when something of it is late or it is over, and for no other', async () => {
    const stage = { remindAfterSeconds: [HOUR] };
    const fine = await waiting(stage);
    const { runId: fineRun } = await world.handle(fine).describe();
    const [late, over] = [(await open(stage)).id, (await open(stage)).id];
    await world.withoutWorker(() => beginWrongly([late, over]));
    const wrong = await Promise.all([late, over].map(async (id) => (await world.handle(id).describe()).runId));
    await Promise.all([late, over].map((id) => world.workflows.wake(id)));
    await world.store.cancel(over, { note: { by: { client: 'mcp-gateway' } } });
    for (const id of [late, fine]) await pass(id, HOUR);
    const running = pace();
    try {
      await waitFor(async () => (await events(late)).includes('reminder'));
      await waitFor(async () => (await statusOf(over)) === 'COMPLETED');
    } finally {
      await running.stop();
    }
    expect(await events(late)).toEqual(['reminder']);
    const ends = [late, over].map(async (id, index) => (await world.handle(id, wrong[index]).describe()).status.name);
    expect(await Promise.all(ends)).toEqual(['TERMINATED', 'TERMINATED']);
    expect(await world.workflows.rouse(fine)).toBe(false);
    expect((await world.handle(fine).describe()).runId).toBe(fineRun);
  }, 600_000);
});
