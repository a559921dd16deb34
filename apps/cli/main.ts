import { systemClock } from '../shared/clock.ts';
import { startFailure } from '../shared/lifecycle.ts';
import { EXIT, processIo } from './context.ts';
import { runCli } from './program.ts';

/** What still holds the process after a command is done has this long to let go. */
const LINGER_MS = 100;

try {
  process.exitCode = await runCli(process.argv.slice(2), processIo());
} catch (error) {
  // The environment cannot be read.
  process.stderr.write(`countersign: ${startFailure(error)}\n`);
  process.exitCode = EXIT.failed;
}
systemClock.once(LINGER_MS, () => process.exit());
