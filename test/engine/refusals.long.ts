import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import type { ActivityPorts } from '../../workflows/activity-ports.ts';
import { systemClock } from '../../apps/shared/clock.ts';
import { findOrStartTemporal, type TemporalServer } from '../../apps/shared/embedded/temporal.ts';
import { findTemporalProgram } from '../../apps/shared/embedded/temporal-program.ts';
import type { Running } from '../../apps/shared/lifecycle.ts';
import { missingNamespace } from '../../apps/shared/temporal/connection.ts';
import { connectEngine, runWorker } from '../../apps/shared/temporal/worker.ts';
import { temporalTools } from '../support/obtain-temporal.mjs';
import { emptyTemporal, killTemporal } from '../support/temporal.ts';
import { waitFor } from '../support/wait-for.ts';

const NAMESPACE = 'ours';
const LIMIT_MS = 240_000;

const stateDir = mkdtempSync(join(tmpdir(), 'countersign-refusals-'));
const start = (namespace: string) => findOrStartTemporal({ stateDir, namespace, ...temporalTools() });
let server!: TemporalServer;
let engine!: Awaited<ReturnType<typeof connectEngine>>;
let worker!: Running;
const steps: string[] = [];
const logged: { alarm?: string; msg: string }[] = [];

beforeAll(async () => {
  server = await start(NAMESPACE);
  const write = (line: string) => void logged.push(JSON.parse(line) as (typeof logged)[number]);
  const log = pino({ level: 'info' }, { write });
  const temporal = { address: server.address, namespace: NAMESPACE, tls: false, taskQueue: 'refused' };
  engine = await connectEngine(temporal, log);
  const activities: Pick<ActivityPorts, 'readResolution'> = {
    async readResolution({ gatedCallId }) {
      steps.push(gatedCallId);
      return { kind: 'ended' };
    },
  };
  const { connection } = engine;
  const { taskQueue } = temporal;
  worker = await runWorker({ connection, temporal, taskQueue, activities, graceMs: 1_000, clock: systemClock, log });
});
afterAll(() => worker?.stop());
afterAll(() => engine?.close());
afterAll(async () => {
  await server?.stop();
  rmSync(stateDir, { recursive: true, force: true });
});

const runOne = (gatedCallId: string) =>
  engine.client.workflow.execute('gatedCallWorkflow', {
    ...{ workflowId: gatedCallId, taskQueue: 'refused', args: [{ gatedCallId }] },
  });

/** As an operator does who starts Temporal on an empty store, and forgets the namespace. */
async function loseTheNamespace(): Promise<void> {
  await killTemporal(stateDir);
  emptyTemporal(stateDir);
  server = await start('another');
}

/** Runs the command that the product names. */
async function followTheAdvice(): Promise<void> {
  const missing = await missingNamespace(engine.connection, { address: server.address, namespace: NAMESPACE });
  const command = /`temporal ([^`]+)`/.exec(missing?.nextStep ?? '')?.[1];
  const program = await findTemporalProgram({ ...temporalTools(), onProgress: () => undefined, tried: [] });
  execFileSync(program?.path ?? '', command?.split(' ') ?? []);
}

it(
  'a worker that Temporal refuses for over a minute raises an alarm, and works again when Temporal accepts it',
  async () => {
    await runOne('before');
    await loseTheNamespace();
    await waitFor(() => logged.some(({ alarm }) => alarm === 'worker_failed'), { timeoutMs: 120_000 });
    await followTheAdvice();
    await waitFor(() => logged.some(({ msg }) => msg === 'another Temporal worker took its place'), {
      timeoutMs: 60_000,
    });
    await runOne('after');
    expect(steps).toEqual(['before', 'after']);
    expect(logged.filter(({ alarm }) => alarm === 'worker_failed')).toHaveLength(1);
  },
  LIMIT_MS,
);
