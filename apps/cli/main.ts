import { isEntryScript } from '../shared/lifecycle.ts';
import { processIo } from './io.ts';
import { runCli } from './program.ts';

/** What still holds the process after a command is done has this long to let go. */
const LINGER_MS = 100;

/** Runs one command line in this process. Answers the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  const code = await runCli(args, processIo());
  setTimeout(() => process.exit(), LINGER_MS).unref();
  return code;
}

if (isEntryScript(import.meta.url)) process.exitCode = await main(process.argv.slice(2));
