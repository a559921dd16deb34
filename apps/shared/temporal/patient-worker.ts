import { once } from 'node:events';
import type { Client } from '@temporalio/client';
import type { Running } from '../lifecycle.ts';
import type { Timing } from '../limits.ts';
import { startRounds } from '../maintenance/rounds.ts';
import { runWorker, type WorkerOptions } from './worker.ts';

const AGAIN_MS = 5_000;

/**
 * Runs a worker as soon as the engine answers, and another one when it broke off, for parts that have to serve while the
 * engine is away. `client` is asked whether it answers, since a worker that connects in vain cannot be stopped.
 */
export function startPatientWorker({
  client,
  clock,
  limits,
  ...options
}: WorkerOptions & Timing & { readonly client: Client }): Running {
  const { log } = options;
  let pauseMs = 0;
  return startRounds({
    name: 'work for the engine',
    pauseMs: () => pauseMs,
    async round(stop) {
      pauseMs = AGAIN_MS;
      try {
        const deadline = clock.now() + limits.enginePingMs;
        await client.withDeadline(deadline, () => client.workflowService.getSystemInfo({}));
        if (!stop.aborted) await workUntil(stop, options);
      } catch (err) {
        log.warn({ err }, 'the engine cannot be used; what needs no timer goes on, and it is tried again');
      }
    },
    clock,
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
