import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client, type QueryResultRow } from 'pg';
import { packagePath } from '../../apps/shared/config/package-root.ts';
import { readEnvironment } from '../../apps/shared/config/env.ts';
import { findOrStartPostgres } from '../../apps/shared/embedded/postgres.ts';
import { createTemporalClient } from '../../apps/shared/temporal/connection.ts';
import { heldCalls } from '../support/held-calls.ts';
import { preloading } from '../support/preload.ts';
import { waitFor } from '../support/wait-for.ts';
import { gatedCallWorkflowId } from '../../workflows/ids.ts';
import { DEPLOYABLES, startStack, type Stack } from '../support/stack.ts';

type Held = Awaited<ReturnType<ReturnType<typeof heldCalls>['hold']>>;

describe('a database that was restored from a backup', () => {
  let stack!: Stack;
  const { hold, approve, end, writes } = heldCalls(() => stack);
  beforeAll(async () => {
    stack = await startStack({ parts: 'apart' });
  });
  afterAll(() => stack?.stop());

  const databaseUrl = async () =>
    (await findOrStartPostgres({ stateDir: stack.stateDir, searchPath: readEnvironment().searchPath })).url;
  const stopDeployables = () => Promise.all(DEPLOYABLES.map((part) => stack.kill(part)));
  const startDeployables = () => Promise.all(DEPLOYABLES.map((part) => stack.startPart(part)));

  /** Runs statements beside the product's database, which nobody may be connected to. */
  async function administer(...statements: string[]): Promise<void> {
    const url = new URL(await databaseUrl());
    url.pathname = '/postgres';
    const client = new Client({ connectionString: url.href });
    await client.connect();
    for (const statement of statements) await client.query(statement);
    await client.end();
  }

  const engineAddress = () => {
    const file = join(stack.stateDir, 'temporal', 'server.json');
    return `127.0.0.1:${(JSON.parse(readFileSync(file, 'utf8')) as { port: number }).port}`;
  };

  async function reconcile(address = engineAddress()): Promise<Record<string, number>> {
    const env = {
      ...process.env,
      ...preloading(),
      DATABASE_URL: await databaseUrl(),
      TEMPORAL_ADDRESS: address,
      COUNTERSIGN_STATE: stack.stateDir,
    };
    const args = [packagePath('dist', 'apps', 'cli', 'main.js'), 'reconcile', '--after-restore', '--json'];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: stack.folder, env });
    return JSON.parse(stdout) as Record<string, number>;
  }

  async function holdAll(count: number) {
    const held: Awaited<ReturnType<typeof hold>>[] = [];
    while (held.length < count) held.push(await hold(held.map(({ request }) => request)));
    return held as [Held, Held, Held, Held, ...Held[]];
  }
  const cancel = async ({ taskId }: Held) => stack.rpc(await stack.token('agent'), 'tasks/cancel', { taskId });
  async function rowsOf<Row extends QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
    const client = new Client({ connectionString: await databaseUrl() });
    await client.connect();
    return client.query<Row>(text, values).then(({ rows }) => client.end().then(() => rows));
  }
  const isFrozen = async () => (await rowsOf<{ frozen: boolean }>('SELECT frozen FROM gateway.epoch'))[0]?.frozen;

  /** Waits until the engine lists the workflows of these calls as completed: its index may lag. */
  async function engineListsEndOf(held: readonly Held[]): Promise<void> {
    const ids = await rowsOf<{ id: string }>('SELECT id FROM gateway.gated_call WHERE task_id = ANY ($1)', [
      held.map(({ taskId }) => taskId),
    ]);
    const engine = createTemporalClient({ ...stack.config.temporal, address: engineAddress() });
    for (const { id } of ids) {
      const query = `WorkflowId = '${gatedCallWorkflowId(id)}' AND ExecutionStatus = 'Completed'`;
      await waitFor(async () => (await engine.client.workflow.count(query)).count > 0);
    }
    await engine.close();
  }

  it('runs nothing again that ran or ended after the backup, and goes on with the rest', async () => {
    const [ran, cancelled, denied, waits] = await holdAll(4);
    await stopDeployables();
    await administer(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'countersign'`,
      'CREATE DATABASE backup TEMPLATE countersign',
    );
    await startDeployables();
    await approve(ran.request);
    await cancel(cancelled);
    await stack.decide(denied.request, { verdict: 'deny' });
    expect(await end(ran.taskId)).toMatchObject({ disposition: 'approved-executed' });
    expect(await end(cancelled.taskId)).toMatchObject({ status: 'cancelled' });
    expect(await end(denied.taskId)).toMatchObject({ disposition: 'denied-not-executed' });
    await engineListsEndOf([cancelled, denied]);
    await stopDeployables();
    await administer('DROP DATABASE countersign WITH (FORCE)', 'ALTER DATABASE backup RENAME TO countersign');

    await expect(reconcile('127.0.0.1:1')).rejects.toThrow();
    expect(await isFrozen()).toBe(true);
    const found = { epoch: 3, open: 4, settled: 1, ended: 2, withoutWitness: expect.any(Number) };
    expect(await reconcile()).toEqual(found);
    expect(await isFrozen()).toBe(false);

    await startDeployables();
    expect(await end(ran.taskId)).toEqual({ status: 'completed', disposition: 'outcome-unknown' });
    const { answers } = await stack.record(ran.taskId);
    expect(answers).toMatchObject({ contradictions: [], didRun: { answer: 'unknown' } });
    for (const { taskId } of [cancelled, denied]) {
      expect(await end(taskId)).toMatchObject({ disposition: 'denied-not-executed' });
      expect(await stack.record(taskId)).toMatchObject({ answers: { contradictions: [], didRun: { answer: 'no' } } });
    }
    await Promise.all(
      [ran, cancelled, denied, waits].map(({ request }) => stack.decide(request, { verdict: 'approve' })),
    );
    expect(await end(waits.taskId)).toMatchObject({ disposition: 'approved-executed' });
    expect([ran, cancelled, denied, waits].map(({ path }) => writes(path))).toEqual([1, 0, 0, 1]);
  });
});
