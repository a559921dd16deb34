import { constants } from 'node:os';
import { systemClock } from '../shared/clock.ts';
import { startFailure } from '../shared/lifecycle.ts';
import { EXIT, processIo } from './context.ts';
import { runCli } from './program.ts';

/** A command without handlers of its own exits at a signal, which ends the programs that it started. */
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    if (process.listenerCount(signal) === 1) process.exit(128 + constants.signals[signal]);
  });
}

/** Open handles get this long to close after the end of a command. */
const LINGER_MS = 100;

try {
  process.exitCode = await runCli(process.argv.slice(2), processIo());
} catch (error) {
  // The environment is not valid.
  process.stderr.write(`countersign: ${startFailure(error)}\n`);
  process.exitCode = EXIT.failed;
}
systemClock.once(LINGER_MS, () => process.exit());
