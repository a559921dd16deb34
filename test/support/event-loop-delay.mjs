// Preloaded into a process: for each SIGUSR2 it appends a line to the file that the environment names, with how long its event
// loop let timers wait since the signal before, in milliseconds.
import { appendFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';

const RESOLUTION_MS = 5;
const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
delays.enable();
/** The record contains the time between two looks, so the pause between them is subtracted. */
const delay = (nanoseconds) => Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS);

process.on('SIGUSR2', () => {
  const line = {
    p50: delay(delays.percentile(50)),
    p99: delay(delays.percentile(99)),
    max: delay(delays.max),
    looks: delays.count,
  };
  appendFileSync(process.env.COUNTERSIGN_TEST_DELAYS, `${JSON.stringify(line)}\n`);
  delays.reset();
});
