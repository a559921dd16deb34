import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { WorkflowNotFoundError } from '@temporalio/client';
import { pino } from 'pino';
import { startPace } from '../../../apps/approvals/pace.ts';
import { aStage } from '../../support/access-requests.ts';
import { startPacedRequests } from '../../support/paced-requests.ts';
import { waitFor } from '../../support/wait-for.ts';

const HOUR = 3_600;

describe('an open access request whose workflow is not there', () => {
  let world: Awaited<ReturnType<typeof startPacedRequests>>;
  beforeAll(async () => {
    world = await startPacedRequests();
  }, 300_000);
  afterAll(() => world?.stop());

  /** What runs beside the service, looking for what was lost every now and then. */
  const pace = () => startPace({ ...world, reconcileIntervalMs: 100, log: pino({ enabled: false }) });
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
  }, 120_000);

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
  }, 120_000);
});
