import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { Client, type QueryResultRow } from 'pg';
import { packagePath } from '../../apps/shared/config/files.ts';
import { createTemporalClient } from '../../apps/shared/temporal/connection.ts';
import { timesLogged } from '../support/artefacts.ts';
import { backUp, databaseUrl, engineAddress } from '../support/copies.ts';
import { heldCalls } from '../support/held-calls.ts';
import { outboxesAreEmpty } from '../support/outboxes.ts';
import { waitFor } from '../support/wait-for.ts';
import { gatedCallWorkflowId } from '../../workflows/messages.ts';
import { DEPLOYABLES, startStack, type Stack } from '../support/stack.ts';

type Held = Awaited<ReturnType<ReturnType<typeof heldCalls>['hold']>>;

describe('a database restored from a backup', () => {
  let stack!: Stack;
  const { hold, approve, end, writes } = heldCalls(() => stack);
  beforeAll(async () => {
    stack = await startStack({ parts: 'apart', timeLimitFactor: 1 });
  });
  afterAll(() => stack?.stop());

  const stopDeployables = () => Promise.all(DEPLOYABLES.map((part) => stack.kill(part)));
  const startDeployables = () => Promise.all(DEPLOYABLES.map((part) => stack.startPart(part)));

  async function cli(args: readonly string[], address = engineAddress(stack)): Promise<string> {
    const env = {
      ...process.env,
      DATABASE_URL: await databaseUrl(stack),
      TEMPORAL_ADDRESS: address,
      COUNTERSIGN_STATE: stack.stateDir,
    };
    const main = packagePath('dist', 'apps', 'cli', 'main.js');
    return (await promisify(execFile)(process.execPath, [main, ...args], { cwd: stack.folder, env })).stdout;
  }
  const reconcile = async (address?: string) =>
    JSON.parse(await cli(['reconcile', '--after-restore', '--temporal', 'kept', '--json'], address)) as Record<
      string,
      number
    >;
  const doctor = () => cli(['doctor']).catch((error: unknown) => (error as { stdout: string }).stdout);

  async function holdAll(count: number) {
    const held: Awaited<ReturnType<typeof hold>>[] = [];
    while (held.length < count) held.push(await hold(held.map(({ request }) => request)));
    return held as [Held, Held, Held, Held, ...Held[]];
  }
  const cancel = async ({ taskId }: Held) => stack.rpc(await stack.token('agent'), 'tasks/cancel', { taskId });
  async function rowsOf<Row extends QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
    const client = new Client({ connectionString: await databaseUrl(stack) });
    await client.connect();
    return client.query<Row>(text, values).then(({ rows }) => client.end().then(() => rows));
  }
  const fence = async () => (await rowsOf<{ state: string }>('SELECT gateway.fence_state() AS state'))[0]?.state;
  const pendingRequests = () => rowsOf(`SELECT id FROM approvals.access_request WHERE status = 'pending'`);
  const statusOf = async ({ taskId }: Held) =>
    (await stack.rpc(await stack.token('agent'), 'tasks/get', { taskId })).body.result?.['status'];

  /** Waits until the engine lists the workflows of these calls as completed, because its index may lag. */
  async function engineListsEndOf(held: readonly Held[]): Promise<void> {
    const ids = await rowsOf<{ id: string }>('SELECT id FROM gateway.gated_call WHERE task_id = ANY ($1)', [
      held.map(({ taskId }) => taskId),
    ]);
    const engine = createTemporalClient({ ...stack.config.temporal, address: engineAddress(stack) });
    for (const { id } of ids) {
      const query = `WorkflowId = '${gatedCallWorkflowId(id)}' AND ExecutionStatus = 'Completed'`;
      await waitFor(async () => (await engine.client.workflow.count(query)).count > 0);
    }
    await engine.close();
  }

  it('executes and ends no call until it is reconciled, and then repeats no execution or end', async () => {
    const [ran, cancelled, denied, waits] = await holdAll(4);
    const all = [ran, cancelled, denied, waits];
    const voteOnAll = () => Promise.all(all.map(({ request }) => stack.decide(request, { verdict: 'approve' })));
    await stopDeployables();
    const restore = await backUp(stack, { database: 'rows', engine: 'kept' });
    await startDeployables();
    await approve(ran.request);
    await cancel(cancelled);
    await stack.decide(denied.request, { verdict: 'deny' });
    expect(await end(ran.taskId)).toMatchObject({ disposition: 'approved-executed' });
    expect(await end(cancelled.taskId)).toMatchObject({ status: 'cancelled' });
    expect(await end(denied.taskId)).toMatchObject({ disposition: 'denied-not-executed' });
    await engineListsEndOf([cancelled, denied]);
    await stopDeployables();
    await restore();

    // The operator forgets the reconciliation.
    await startDeployables();
    await voteOnAll();
    await cancel(waits);
    await rowsOf(`UPDATE gateway.gated_call SET request_deadline = clock_timestamp() WHERE task_id = $1`, [
      denied.taskId,
    ]);
    await outboxesAreEmpty(await stack.database(), { timeoutMs: 120_000 });
    expect(await Promise.all(all.map(statusOf))).toEqual(all.map(() => 'working'));
    expect(all.map(({ path }) => writes(path))).toEqual([1, 0, 0, 0]);
    await waitFor(() => timesLogged(stack, '"alarm":"restored"', 'worker') > 0);
    expect(await doctor()).toMatch(
      /fail {2}restore .*restored from a backup.*\n.*countersign reconcile --after-restore/,
    );

    await expect(reconcile('127.0.0.1:1')).rejects.toThrow();
    expect(await fence()).toBe('reconciling');
    expect(await reconcile()).toEqual({ epoch: 2, open: 4, settled: 1, ended: 2, withoutWitness: 0 });
    expect(await fence()).toBe('whole');

    expect(await end(ran.taskId)).toEqual({ status: 'completed', disposition: 'outcome-unknown' });
    const { answers } = await stack.record(ran.taskId);
    expect(answers).toMatchObject({ contradictions: [], didRun: { answer: 'unknown' } });
    for (const { taskId } of [cancelled, denied]) {
      expect(await end(taskId)).toMatchObject({ disposition: 'denied-not-executed' });
      expect(await stack.record(taskId)).toMatchObject({ answers: { contradictions: [], didRun: { answer: 'no' } } });
    }
    expect(await end(waits.taskId)).toMatchObject({ disposition: 'approved-executed' });
    expect(all.map(({ path }) => writes(path))).toEqual([1, 0, 0, 1]);
  });

  it('leaves no open question to an approver about an ended call', async () => {
    const held = await holdAll(3);
    await stopDeployables();
    // The other side has lost one of them.
    await rowsOf('DELETE FROM approvals.access_request WHERE id = $1', [held[0].request.id]);
    await startDeployables();
    const said = await cli(['reconcile', '--after-restore', '--temporal', 'lost', '--json']);
    expect(JSON.parse(said)).toMatchObject({ open: 3, settled: 3, withoutWitness: 3 });
    await outboxesAreEmpty(await stack.database(), { timeoutMs: 120_000 });
    expect(await pendingRequests()).toEqual([]);
    const voted = await Promise.all(held.map(({ request }) => stack.decide(request, { verdict: 'approve' })));
    expect(voted.map(({ ok }) => ok)).toEqual([false, false, false]);
    expect(held.map(({ path }) => writes(path))).toEqual([0, 0, 0]);
  });
});
