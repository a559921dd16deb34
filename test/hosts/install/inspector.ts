import { packagePath } from '../../../apps/shared/config/files.ts';
import { installForeign } from '../../support/foreign.ts';
import type { Driver, Installing } from '../row.ts';
import { DRIVERS } from './programs.ts';

/** Starts the driver of the Inspector's command line, which is a program for each method. */
export async function installInspector({ say }: Installing): Promise<Driver> {
  const programs = await installForeign('inspector', say);
  const own = programs.path('@modelcontextprotocol/inspector', 'clients', 'cli', 'build', 'index.js');
  return {
    command: programs.node,
    args: [packagePath(...DRIVERS, 'inspector.mjs')],
    env: { HOST_PROGRAM: own },
  };
}
