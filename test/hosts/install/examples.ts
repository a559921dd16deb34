import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { packagePath } from '../../../apps/shared/config/files.ts';
import { installForeign } from '../../support/foreign.ts';
import type { Driver, Installing } from '../row.ts';
import { commandLineDriver } from './command-lines.ts';
import { installPython } from './python.ts';

const EXAMPLES = packagePath('examples', 'agents');

/** Runs an example in Python in the virtual environment of `test/foreign/<folder>`. */
export async function examplePython(
  file: string,
  installing: Installing,
  { folder, driver }: { readonly folder: string; readonly driver: string },
): Promise<Driver> {
  const { command } = await installPython(file, installing, folder);
  return commandLineDriver(driver, [command, join(EXAMPLES, `${file}.py`)]);
}

/** Runs an example in JavaScript with the packages of `test/foreign/hosts-examples`, and their newer Node.js. */
export async function exampleNode(file: string, { say }: Installing): Promise<Driver> {
  const programs = await installForeign('hosts-examples', say);
  // Modules find their packages beside them.
  const copy = programs.path('..', `${file}.mjs`);
  copyFileSync(join(EXAMPLES, `${file}.mjs`), copy);
  return commandLineDriver('example-agent', [programs.node, copy]);
}
