import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { packagePath } from '../../apps/shared/config/package-root.ts';
import { readEnvironment } from '../../apps/shared/config/env.ts';
import { findOrStartPostgres } from '../../apps/shared/embedded/postgres.ts';
import { heldCalls } from '../support/held-calls.ts';
import { DEPLOYABLES, startStack, type Stack } from '../support/stack.ts';

describe('a database that was restored from a backup', () => {
  let stack!: Stack;
  const { hold, approve, end, writes } = heldCalls(() => stack);
  beforeAll(async () => {
    stack = await startStack({ parts: 'apart' });
  }, 180_000);
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

  async function reconcile(): Promise<Record<string, number>> {
    const temporal = JSON.parse(readFileSync(join(stack.stateDir, 'temporal', 'server.json'), 'utf8')) as {
      port: number;
    };
    const env = {
      ...process.env,
      DATABASE_URL: await databaseUrl(),
      TEMPORAL_ADDRESS: `127.0.0.1:${temporal.port}`,
      COUNTERSIGN_STATE: stack.stateDir,
    };
    const args = [packagePath('dist', 'apps', 'cli', 'main.js'), 'reconcile', '--after-restore', '--json'];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: stack.folder, env });
    return JSON.parse(stdout) as Record<string, number>;
  }

  it('runs nothing again that ran after the backup, and goes on with the rest', async () => {
    const ran = await hold();
    const waits = await hold([ran.request]);
    await stopDeployables();
    await administer(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'countersign'`,
      'CREATE DATABASE backup TEMPLATE countersign',
    );
    await startDeployables();
    await approve(ran.request);
    expect(await end(ran.taskId)).toMatchObject({ disposition: 'approved-executed' });
    await stopDeployables();
    await administer('DROP DATABASE countersign WITH (FORCE)', 'ALTER DATABASE backup RENAME TO countersign');

    expect(await reconcile()).toEqual({ epoch: 2, open: 2, settled: 1, withoutWitness: expect.any(Number) });

    await startDeployables();
    expect(await end(ran.taskId)).toEqual({ status: 'completed', disposition: 'outcome-unknown' });
    expect(await stack.record(ran.taskId)).toMatchObject({
      answers: { contradictions: [], didRun: { answer: 'unknown' } },
    });
    await approve(ran.request);
    await approve(waits.request);
    expect(await end(waits.taskId)).toMatchObject({ disposition: 'approved-executed' });
    expect([writes(ran.path), writes(waits.path)]).toEqual([1, 1]);
  }, 180_000);
});
