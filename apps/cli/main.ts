import { systemClock } from '../shared/clock.ts';
import { startFailure } from '../shared/lifecycle.ts';
import { EXIT, processIo } from './context.ts';
import { runCli } from './program.ts';

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
