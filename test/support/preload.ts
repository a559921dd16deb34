import { pathToFileURL } from 'node:url';
import { packagePath } from '../../apps/shared/config/files.ts';

/** Variables with which a process loads these scripts of this folder first. */
export const preloading = (...scripts: readonly string[]): Record<string, string> => ({
  NODE_OPTIONS: scripts
    .map((script) => `--import ${pathToFileURL(packagePath('test', 'support', script)).href}`)
    .join(' '),
});
