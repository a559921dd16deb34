import { randomUUID } from 'node:crypto';
import { Client, Connection, WorkflowNotFoundError, type WorkflowHandle } from '@temporalio/client';
import { NativeConnection, Worker, type WorkflowBundle } from '@temporalio/worker';
import pino, { type Logger } from 'pino';
import { createDueCalls, createOpenCalls } from '../../activities/stores/due-calls.ts';
import { type Running, stopAll } from '../../apps/shared/lifecycle.ts';
import { startOutbox } from '../../apps/shared/outbox.ts';
import { createGatedCallWorkflows } from '../../apps/shared/temporal/gated-call-workflows.ts';
import { bundleWorkflows } from '../../apps/shared/temporal/bundle.ts';
import { outboxHandlers } from '../../apps/worker/jobs/deliver-outbox.ts';
import { startRestartLost } from '../../apps/worker/jobs/restart-lost.ts';
import { startPollResolutions } from '../../apps/worker/jobs/poll-resolutions.ts';
import { startExpiry } from '../../apps/shared/maintenance/expire.ts';
import { installRuntime, TURN_LIMIT } from '../../apps/shared/temporal/worker.ts';
import { gatedCallWorkflowId } from '../../workflows/messages.ts';
import { expectInvariants } from '../invariants/check-invariants.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { createEngineWorld, type EngineWorld, type WorldCall } from './engine-world.ts';
import { NEVER_RESTORED } from './never-restored.ts';
import { outboxesAreEmpty } from './outboxes.ts';
import { waitFor } from './wait-for.ts';
import type { Timing } from '../../apps/shared/limits.ts';
import { systemTime } from './time.ts';

export interface EngineOptions {
  /** `host:port` of the frontend. */
  readonly address: string;
  /** The address that the worker and the maintenance use, when it differs. */
  readonly reachedAt?: string;
  readonly world?: Parameters<typeof createEngineWorld>[1];
  readonly reconcileMs?: number;
  /** The time limit of requests to the engine. Where no limit is tested, it is long enough for a slow machine. */
  readonly time?: Timing;
}

/** A worker of the product in this process, piece by piece, over its own database and task queue. */
export interface Engine {
  readonly world: EngineWorld;
  readonly db: TestDatabase;
  /** The alarms of the maintenance. */
  readonly alarms: readonly Alarm[];
  readonly client: Client;
  readonly taskQueue: string;
  readonly workflows: ReturnType<typeof createGatedCallWorkflows>;
  /** The same, with each request made only once, even if it fails. */
  readonly asked: Engine['workflows'];
  /** Starts a worker with the product's workflows, by default. */
  startWorker(of?: { address?: string; bundle?: WorkflowBundle; maxCachedWorkflows?: number }): Promise<Running>;
  /** Starts the outbox, the sweeper, the poller of resolutions and the reconciler. */
  startMaintenance(): Promise<Running>;
  handle(call: WorldCall): WorkflowHandle;
  /** Waits until no workflow of the call runs and answers how the last one ended: `COMPLETED`, `TERMINATED` … `GONE` */
  closed(call: WorldCall, timeoutMs?: number): Promise<string>;
  /**
   * Lets pending work end, stops everything, and checks all invariants of the database: throws when one does not hold.
   */
  stop(): Promise<void>;
}

interface Alarm {
  readonly alarm: string;
  readonly gatedCall?: string;
}

export async function startEngine(options: EngineOptions): Promise<Engine> {
  installRuntime(pino({ enabled: false }));
  const alarms: Alarm[] = [];
  const log = pino({ level: 'error' }, { write: (line: string) => void alarms.push(JSON.parse(line) as Alarm) });
  const db = await createTestDatabase({ max: 20 });
  const world = createEngineWorld(db, options.world);
  const taskQueue = `engine-${randomUUID()}`;
  const direct = await Connection.connect({ address: options.address });
  const client = new Client({ connection: direct });
  const reachedAt = options.reachedAt ?? options.address;
  const connection = Connection.lazy({ address: reachedAt });
  const asked = createGatedCallWorkflows(new Client({ connection }), {
    ...(options.time ?? systemTime),
    taskQueue,
  });
  const workflows = asked;
  const parts: Running[] = [];
  const running = (part: Running): Running => {
    parts.push(part);
    const stop = async () => {
      if (parts.includes(part)) parts.splice(parts.indexOf(part), 1);
      await part.stop();
    };
    return { name: part.name, stop };
  };
  const handle = (call: WorldCall) => client.workflow.getHandle(gatedCallWorkflowId(call.gatedCallId));
  const engine: Engine = {
    ...{ world, db, alarms, client, taskQueue, workflows, asked, handle },
    startWorker: async (of = {}) => running(await startWorker({ address: reachedAt, ...of, taskQueue, world })),
    startMaintenance: async () =>
      running(await startMaintenance({ db, world, log, workflows: asked, reconcileMs: options.reconcileMs ?? 1_000 })),
    closed: (call, timeoutMs = 120_000) =>
      waitFor(
        async () => {
          const name = await statusOf(handle(call));
          return name === 'RUNNING' ? undefined : name;
        },
        { timeoutMs, everyMs: 100 },
      ),
    async stop() {
      world.releaseAll();
      try {
        await engine.startMaintenance();
        await nothingIsToBeDone(db);
        await stopAll(parts.splice(0));
        await expectInvariants(db.pool, world.evidence());
      } finally {
        await stopAll(parts);
        await connection.close();
        await direct.close();
        await db.drop();
      }
    },
  };
  return engine;
}

export async function statusOf(handle: WorkflowHandle): Promise<string> {
  try {
    return (await handle.describe()).status.name;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return 'GONE';
    throw error;
  }
}

/** The number of events of each run of the call's workflow, once all are closed and in the engine's list. */
export function lengthsOfRuns({ client, handle }: Engine, call: WorldCall): Promise<number[]> {
  const { workflowId } = handle(call);
  return waitFor(
    async () => {
      const lengths: number[] = [];
      for await (const run of client.workflow.list({ query: `WorkflowId = '${workflowId}'` })) {
        lengths.push(run.status.name === 'RUNNING' ? 0 : (run.historyLength ?? 0));
      }
      return lengths.length > 0 && lengths.every((length) => length > 0) ? lengths : undefined;
    },
    { timeoutMs: 120_000 },
  );
}

/** Waits until the outbox is empty. Retries that are due later happen now. */
async function nothingIsToBeDone({ pool }: TestDatabase): Promise<void> {
  await pool.query('UPDATE gateway.outbox SET available_at = clock_timestamp()');
  await outboxesAreEmpty(pool, { timeoutMs: 300_000 });
}

async function startWorker(of: {
  address: string;
  taskQueue: string;
  world: EngineWorld;
  bundle?: WorkflowBundle;
  maxCachedWorkflows?: number;
}): Promise<Running> {
  const connection = await NativeConnection.connect({ address: of.address });
  const worker = await Worker.create({
    connection,
    taskQueue: of.taskQueue,
    workflowBundle: of.bundle ?? (await bundleWorkflows()),
    activities: of.world.activities,
    shutdownGraceTime: '2 seconds',
    maxCachedWorkflows: of.maxCachedWorkflows ?? 500,
    ...TURN_LIMIT,
  });
  const ran = worker.run();
  return {
    name: 'worker',
    async stop() {
      if (worker.getState() === 'RUNNING') worker.shutdown();
      await ran;
      await connection.close();
    },
  };
}

async function startMaintenance(of: {
  db: TestDatabase;
  world: EngineWorld;
  log: Logger;
  workflows: Engine['workflows'];
  reconcileMs: number;
}): Promise<Running> {
  const { db, world, workflows, log } = of;
  const { lifecycle } = world.fixture;
  const parts: Running[] = [
    startExpiry({
      ...systemTime,
      calls: { ...createDueCalls(db.pool), rewrap: async () => 0, expire: lifecycle.expire, end: lifecycle.end },
      ...{ intervalMs: 200, abandonAfterMs: 600_000, log },
    }),
    await startOutbox({
      ...systemTime,
      ...{ pool: db.pool, listenUrl: db.url, schema: 'gateway', channel: 'gateway_outbox', concurrency: 8, log },
      handlers: outboxHandlers({ workflows, calls: lifecycle, accessRequests: world.accessRequests, log }),
    }),
    startRestartLost({
      ...systemTime,
      ...{ workflows, calls: createOpenCalls(db.pool), intervalMs: of.reconcileMs, log },
      ...{ progress: lifecycle.progress, report: NEVER_RESTORED.report },
    }),
    startPollResolutions({
      ...systemTime,
      polls: { take: world.duePolls.take, poll: world.poll },
      intervalMs: 200,
      log,
    }),
  ];
  return { name: 'maintenance', stop: () => stopAll(parts) };
}
