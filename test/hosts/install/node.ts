import { cpSync } from 'node:fs';
import { packagePath } from '../../../apps/shared/config/files.ts';
import { installForeign } from '../../support/foreign.ts';
import type { Driver, Installing } from '../row.ts';
import { DRIVERS } from './programs.ts';

/** Starts a driver in JavaScript with the packages of `test/foreign/<folder>`, and their newer Node.js. */
export async function installNode(name: string, { say }: Installing, folder = 'hosts-node'): Promise<Driver> {
  const programs = await installForeign(folder, say);
  // Modules find their packages in the folders above them.
  const drivers = programs.path('..', 'drivers');
  cpSync(packagePath(...DRIVERS), drivers, { recursive: true });
  return { command: programs.node, args: [`${drivers}/${name}.mjs`] };
}
