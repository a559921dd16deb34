import { once } from 'node:events';
import type { Client } from '@temporalio/client';
import type { Running } from '../lifecycle.ts';
import { startRounds } from '../maintenance/rounds.ts';
import { runWorker, type WorkerOptions } from './worker.ts';

const PING_MS = 2_000;
const AGAIN_MS = 5_000;

/**
 * Runs a worker as soon as the engine answers, and another one when it broke off, for parts that have to serve while the
 * engine is away. `client` is asked whether it answers, since a worker that connects in vain cannot be stopped.
 */
export function startPatientWorker({ client, ...options }: WorkerOptions & { readonly client: Client }): Running {
  const { log } = options;
  let pauseMs = 0;
  return startRounds({
    name: 'work for the engine',
    pauseMs: () => pauseMs,
    async round(stop) {
      pauseMs = AGAIN_MS;
      try {
        await client.withDeadline(Date.now() + PING_MS, () => client.workflowService.getSystemInfo({}));
        if (!stop.aborted) await workUntil(stop, options);
      } catch (err) {
        log.warn({ err }, 'the engine cannot be used; what needs no timer goes on, and it is tried again');
      }
    },
    log,
  });
}

async function workUntil(stop: AbortSignal, options: WorkerOptions): Promise<void> {
  const worker = await runWorker(options);
  options.log.info('the engine answers: its timers are served');
  const stopped = stop.aborted ? undefined : once(stop, 'abort');
  try {
    await Promise.race([worker.ran, stopped]);
  } finally {
    await worker.stop();
  }
}
