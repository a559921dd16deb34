import { cpSync } from 'node:fs';
import { packagePath } from '../../../apps/shared/config/files.ts';
import { installForeign } from '../../support/foreign.ts';
import type { Driver, Host, Installing } from '../row.ts';

const FOLDER = 'hosts-node';

/** Starts a driver with the packages of `test/foreign/hosts-node`, and their newer Node.js. */
async function installNode(name: string, { say }: Installing): Promise<Driver> {
  const programs = await installForeign(FOLDER, say);
  // Modules find their packages in the folders above them.
  const drivers = programs.path('..', 'drivers');
  cpSync(packagePath('test', 'hosts', 'drivers'), drivers, { recursive: true });
  return { command: programs.node, args: [`${drivers}/${name}.mjs`] };
}

const onNode = (host: Omit<Host, 'install' | 'language'>): Host => ({
  ...host,
  language: 'TypeScript',
  install: (installing) => installNode(host.name, installing),
});

export const CLIENTS_FOR_NODE: readonly Host[] = [
  onNode({
    name: 'sdk-1',
    title: 'MCP SDK for TypeScript 1',
    version: '1.32.2',
    waysIn: ['document', 'registration', 'token'],
    holds: 'wait',
    toSet: '',
  }),
];
