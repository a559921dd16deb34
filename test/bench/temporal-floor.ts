import { randomUUID } from 'node:crypto';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Worker } from '@temporalio/worker';
import pino from 'pino';
import { installRuntime } from '../../apps/shared/temporal/worker.ts';
import { summariseEach, type Sample } from './stats.ts';

const WARM_UP = 40;

export interface TemporalFloor {
  /** From the signal to the start of the activity. */
  readonly started: Sample;
  /** From the signal until the signalling client has the workflow's result; the workflow waits for the activity. */
  readonly roundTrip: Sample;
}

/** One signal and one activity, bare, on the same Temporal server as the product under test. One at a time. */
export async function measureTemporalFloor(address: string, count: number): Promise<TemporalFloor> {
  installRuntime(pino({ enabled: false }));
  const arrivals = new Map<string, (at: number) => void>();
  const native = await NativeConnection.connect({ address });
  const connection = await Connection.connect({ address });
  const { workflow } = new Client({ connection });
  const taskQueue = `floor-${randomUUID()}`;
  const workflowsPath = fileURLToPath(new URL(`./floor.workflow${extname(import.meta.url)}`, import.meta.url));
  const worker = await Worker.create({
    connection: native,
    taskQueue,
    workflowBundle: await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('WARN') }),
    activities: { arrive: async (id: string) => arrivals.get(id)?.(performance.now()) },
  });
  const started: number[] = [];
  const roundTrip: number[] = [];
  await worker.runUntil(async () => {
    for (let index = 0; index < WARM_UP + count; index += 1) {
      const id = randomUUID();
      const handle = await workflow.start('floorWorkflow', { workflowId: id, taskQueue, args: [id] });
      // The first task has to be over, as when a person decides minutes after the call was made.
      while ((await handle.describe()).historyLength < 4) await new Promise((resolve) => setImmediate(resolve));
      const arrived = new Promise<number>((resolve) => arrivals.set(id, resolve));
      const signalled = performance.now();
      await handle.signal('release');
      const startedAt = await arrived;
      await handle.result();
      if (index < WARM_UP) continue;
      started.push(startedAt - signalled);
      roundTrip.push(performance.now() - signalled);
    }
  });
  await connection.close();
  await native.close();
  return { started: summariseEach(started), roundTrip: summariseEach(roundTrip) };
}
