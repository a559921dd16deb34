import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import { isAlive } from '../../../../apps/shared/embedded/process-tools.ts';
import { findOrStartTemporal, type TemporalServer } from '../../../../apps/shared/embedded/temporal.ts';
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
  it('starts a server on loopback, and keeps running workflows over a restart', async () => {
    const first = await start();
    expect(first.address).toMatch(/^127\.0\.0\.1:\d+$/);
    await openWorkflow(first.address);
    const pid = serverPid();
    await first.stop();
    expect(isAlive(pid)).toBe(false);
    const second = await start();
    expect(await statusOfWorkflow(second.address)).toBe('RUNNING');
  });

  it('uses a given address without starting a server', async () => {
    const given = await findOrStartTemporal({ stateDir, address: 'temporal.example:7233', ...temporalTools() });
    expect(given).toMatchObject({ address: 'temporal.example:7233', how: 'TEMPORAL_ADDRESS' });
    await given.stop();
  });
});
