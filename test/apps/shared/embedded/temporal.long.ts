import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import { isAlive } from '../../../../apps/shared/embedded/process-tools.ts';
import { findOrStartTemporal, type TemporalServer } from '../../../../apps/shared/embedded/temporal.ts';
import { firstLine, killHard, startScript } from '../../../support/child.ts';
import { temporalTools } from '../../../support/obtain-temporal.mjs';

let stateDir: string;
let started: TemporalServer[];

beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'temporal-test-'));
  started = [];
});

afterEach(async () => {
  for (const server of started) await server.stop();
  rmSync(stateDir, { recursive: true, force: true });
});

async function start(): Promise<TemporalServer> {
  const server = await findOrStartTemporal({ stateDir, ...temporalTools() });
  started.push(server);
  return server;
}

async function withClient<T>(address: string, use: (client: Client) => Promise<T>): Promise<T> {
  const connection = await Connection.connect({ address, connectTimeout: '4 minutes' });
  try {
    return await use(new Client({ connection }));
  } finally {
    await connection.close();
  }
}

const openWorkflow = (address: string) =>
  withClient(address, (client) => client.workflow.start('unserved', { workflowId: 'kept', taskQueue: 'unserved' }));
const statusOfWorkflow = (address: string) =>
  withClient(address, async (client) => (await client.workflow.getHandle('kept').describe()).status.name);
const serverFile = () => join(stateDir, 'temporal', 'server.json');
const serverPid = () => (JSON.parse(readFileSync(serverFile(), 'utf8')) as { pid: number }).pid;

describe('findOrStartTemporal', () => {
  it('adopts the server of a killed process, and stops it in the end', async () => {
    const child = startScript('start-temporal.ts', stateDir);
    const address = await firstLine(child);
    await openWorkflow(address);
    await killHard(child);
    const pid = serverPid();
    const adopted = await start();
    expect(adopted).toMatchObject({ address, how: `already running (pid ${pid})` });
    expect(await statusOfWorkflow(adopted.address)).toBe('RUNNING');
    await adopted.stop();
    expect(isAlive(pid)).toBe(false);
  });

  it('starts again with all its data after a kill of the server itself', async () => {
    const first = await start();
    await openWorkflow(first.address);
    process.kill(serverPid(), 'SIGKILL');
    const second = await start();
    expect(await statusOfWorkflow(second.address)).toBe('RUNNING');
  });

  it('gives two processes that start at once the same server', async () => {
    const [one, two] = await Promise.all([start(), start()]);
    expect(two.address).toBe(one.address);
  });

  it('neither adopts nor ends another process with the pid of a former server', async () => {
    const first = await start();
    await first.stop();
    writeFileSync(serverFile(), JSON.stringify({ pid: process.pid, port: Number(first.address.split(':')[1]) }));
    const second = await start();
    expect(second.how).not.toMatch(/already running/);
  });
});
