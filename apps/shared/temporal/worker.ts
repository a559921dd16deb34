import { existsSync } from 'node:fs';
import { Client } from '@temporalio/client';
import {
  DefaultLogger,
  IllegalStateError,
  makeTelemetryFilterString,
  NativeConnection,
  Runtime,
  Worker,
} from '@temporalio/worker';
import type { Logger } from 'pino';
import { INVOCATIONS_AT_ONCE } from '../../../workflows/activity-ports.ts';
import type { Clock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import type { Running } from '../lifecycle.ts';
import { startRounds } from '../maintenance/rounds.ts';
import { type Engine, missingNamespace } from './connection.ts';
import { bundlePath, bundleWorkflows } from './bundle.ts';

/**
 * How long one turn of a workflow may compute. The default is 5 seconds, which a turn that reads thousands of signals on a busy machine
 * exceeds, and the interruption can crash the process. The SDK has the option, but not in its published type.
 */
export const TURN_LIMIT = { isolateExecutionTimeout: '5 minutes' } as const;

/**
 * Connects a process that runs a worker. Its client shares the worker's connection, so that the engine may hand the first task of a
 * workflow to the process that starts it. Rejects when Temporal cannot be reached.
 */
export async function connectEngine({ address, tls, namespace }: Engine, log: Logger) {
  installRuntime(log);
  const connection = await NativeConnection.connect({ address, tls }).catch((cause: unknown) => {
    throw new Error(`Temporal does not answer at ${address}. Is it running? Its address is TEMPORAL_ADDRESS`, {
      cause,
    });
  });
  return {
    connection,
    client: new Client({ connection, namespace }),
    async close() {
      await connection.close().catch((error: unknown) => {
        // A worker that failed may hold the connection until the process ends.
        if (!(error instanceof IllegalStateError)) throw error;
        log.debug({ err: error }, 'the connection to Temporal stays open until the process ends');
      });
    },
  };
}

export interface WorkerOptions {
  /** Stays open when the worker stops. */
  readonly connection: NativeConnection;
  readonly temporal: Config['temporal'] & { address: string };
  readonly taskQueue: string;
  /** The steps of the workflows in that queue. */
  readonly activities: object;
  /** How long work in flight may take to finish at a stop. */
  readonly graceMs: number;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Between two looks at the worker, and between two attempts to replace it. */
const REPLACE_AFTER_MS = 10_000;

/**
 * Runs workflows and activities until stopped. When Temporal refuses the worker for a minute, for example because the namespace is missing
 * or a certificate has expired, the SDK's worker fails for good. Another one then takes its place as soon as Temporal accepts it.
 */
export async function runWorker(options: WorkerOptions): Promise<Running> {
  const { clock, log } = options;
  let current = begin(await createWorker(options));
  let isReported = false;
  const replacing = startRounds({
    ...{ name: 'replacement of a failed Temporal worker', pauseMs: () => REPLACE_AFTER_MS, clock, log },
    async round() {
      if (!current.hasFailed()) return;
      const consequence = 'Open calls wait for another one; `countersign doctor` checks Temporal';
      if (!isReported) log.error({ alarm: 'worker_failed' }, `the Temporal worker failed. ${consequence}`);
      isReported = true;
      current = begin(await createWorker(options));
      isReported = false;
      log.info('another Temporal worker took its place');
    },
  });
  return {
    name: 'temporal worker',
    async stop() {
      await replacing.stop();
      await current.stop();
    },
  };
}

function begin(worker: Worker) {
  const ran = worker.run();
  // Of a worker that failed. Unheard, the rejection would end the process; the SDK has logged its reason.
  ran.catch(() => undefined);
  // After an error, a worker may also drain for ever.
  const hasFailed = () => worker.getState() !== 'RUNNING';
  return {
    hasFailed,
    async stop() {
      // The `run` of a worker that failed may never settle.
      if (hasFailed()) return;
      worker.shutdown();
      await ran;
    },
  };
}

async function createWorker(options: WorkerOptions): Promise<Worker> {
  const { connection, temporal, taskQueue, activities, graceMs } = options;
  const missing = await missingNamespace(connection, temporal);
  if (missing !== undefined) throw new Error(`${missing.what}: ${missing.nextStep}`);
  return Worker.create({
    connection,
    namespace: temporal.namespace,
    taskQueue,
    workflowBundle: existsSync(bundlePath) ? { codePath: bundlePath } : await bundleWorkflows(),
    activities,
    maxConcurrentActivityTaskExecutions: INVOCATIONS_AT_ONCE,
    shutdownGraceTime: graceMs,
    // About a quarter of a megabyte each; a call that waits for days does not need it.
    maxCachedWorkflows: 500,
    ...TURN_LIMIT,
  });
}

let runtimeInstalled = false;

/** Has the SDK's runtime write to our log, and leave signals to our lifecycle. Once per process. */
export function installRuntime(log: Logger): void {
  if (runtimeInstalled) return;
  runtimeInstalled = true;
  const levels = { TRACE: 'trace', DEBUG: 'debug', INFO: 'debug', WARN: 'warn', ERROR: 'error' } as const;
  Runtime.install({
    logger: new DefaultLogger('INFO', ({ level, message, meta: { error, ...meta } = {} }) =>
      log[levels[level]]({ err: error, temporal: meta }, message),
    ),
    // Also forwards the lines of the SDK's core, which would otherwise go to standard output.
    telemetryOptions: { logging: { forward: {}, filter: makeTelemetryFilterString({ core: 'WARN' }) } },
    shutdownSignals: [],
  });
}
