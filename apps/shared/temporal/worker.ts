import { existsSync } from 'node:fs';
import { Client } from '@temporalio/client';
import { DefaultLogger, makeTelemetryFilterString, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import type { Running } from '../lifecycle.ts';
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
  return { connection, client: new Client({ connection, namespace }), close: () => connection.close() };
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
}

/** Runs workflows and activities until stopped. */
export async function runWorker(options: WorkerOptions): Promise<Running> {
  const worker = await createWorker(options);
  const ran = worker.run();
  return {
    name: 'temporal worker',
    async stop() {
      if (worker.getState() === 'RUNNING') worker.shutdown();
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
    logger: new DefaultLogger('INFO', ({ level, message, meta }) => log[levels[level]]({ temporal: meta }, message)),
    // Also forwards the lines of the SDK's core, which would otherwise go to standard output.
    telemetryOptions: { logging: { forward: {}, filter: makeTelemetryFilterString({ core: 'WARN' }) } },
    shutdownSignals: [],
  });
}
