import { processIo } from './io.ts';
import { runCli } from './program.ts';

/** What still holds the process after a command is done has this long to let go. */
const LINGER_MS = 100;

process.exitCode = await runCli(process.argv.slice(2), processIo());
setTimeout(() => process.exit(), LINGER_MS).unref();
