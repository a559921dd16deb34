import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach } from '@jest/globals';
import { Client as TemporalClient, Connection } from '@temporalio/client';
import { Client as PostgresClient, type QueryResultRow } from 'pg';
import { findOrStartPostgres } from '../../apps/shared/embedded/postgres.ts';
import { findOrStartTemporal } from '../../apps/shared/embedded/temporal.ts';
import { temporalTools } from './obtain-temporal.mjs';
import { ownFolder } from './test-run.ts';

/** Gives each test a new state folder, and stops after it the servers that it started. */
function inNewFolder() {
  let stateDir: string;
  let started: { stop(): Promise<void> }[];
  beforeEach(() => {
    stateDir = ownFolder('embedded-servers-');
    started = [];
  });
  afterEach(async () => {
    for (const server of started) await server.stop();
    rmSync(stateDir, { recursive: true, force: true });
  });
  return {
    stateDir: () => stateDir,
    stopLater<Server extends { stop(): Promise<void> }>(server: Server): Server {
      started.push(server);
      return server;
    },
  };
}

export const searchPath = process.env['PATH'] ?? '';

/** Embedded PostgreSQL servers, which do not sync to disk unless told otherwise. */
export function embeddedPostgres() {
  const { stateDir, stopLater } = inNewFolder();
  const pidFile = () => join(stateDir(), 'postgres', 'data', 'postmaster.pid');
  return {
    stateDir,
    pidFile,
    serverPid: () => Number(readFileSync(pidFile(), 'utf8').split('\n')[0]),
    start: async (options: { durable?: boolean } = {}) =>
      stopLater(await findOrStartPostgres({ stateDir: stateDir(), searchPath, durable: false, ...options })),
    async query<Row extends QueryResultRow>(url: string, text: string): Promise<Row[]> {
      const client = new PostgresClient({ connectionString: url });
      await client.connect();
      try {
        return (await client.query<Row>(text)).rows;
      } finally {
        await client.end();
      }
    },
  };
}

/** Embedded Temporal servers, and one workflow in them that no worker serves. */
export function embeddedTemporal() {
  const { stateDir, stopLater } = inNewFolder();
  async function withClient<T>(address: string, use: (client: TemporalClient) => Promise<T>): Promise<T> {
    const connection = await Connection.connect({ address, connectTimeout: '4 minutes' });
    try {
      return await use(new TemporalClient({ connection }));
    } finally {
      await connection.close();
    }
  }
  const serverFile = () => join(stateDir(), 'temporal', 'server.json');
  return {
    stateDir,
    serverFile,
    serverPid: () => (JSON.parse(readFileSync(serverFile(), 'utf8')) as { pid: number }).pid,
    start: async () => stopLater(await findOrStartTemporal({ stateDir: stateDir(), ...temporalTools() })),
    openWorkflow: (address: string) =>
      withClient(address, (client) => client.workflow.start('unserved', { workflowId: 'kept', taskQueue: 'unserved' })),
    statusOfWorkflow: (address: string) =>
      withClient(address, async (client) => (await client.workflow.getHandle('kept').describe()).status.name),
  };
}
