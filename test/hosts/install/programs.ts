import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { packagePath } from '../../../apps/shared/config/files.ts';
import { NotHere } from '../row.ts';

/** The folder of the drivers. */
export const DRIVERS = ['test', 'hosts', 'drivers'] as const;

const run = promisify(execFile);

/** What a program says of its version. Throws a `NotHere` without the program. */
export async function demand(program: string, args: readonly string[], install: string): Promise<string> {
  try {
    const { stdout, stderr } = await run(program, args);
    return `${stdout}${stderr}`.trim();
  } catch (cause) {
    throw new NotHere(`there is no ${program} on the PATH: ${install}`, { cause });
  }
}

/** A digest of drivers that are compiled, so that a changed one is compiled again. */
export function digestOf(drivers: readonly string[]): string {
  const hash = createHash('sha256');
  for (const driver of drivers) hash.update(readFileSync(packagePath(...DRIVERS, driver)));
  return hash.digest('hex');
}
