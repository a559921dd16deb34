import { pathToFileURL } from 'node:url';
import { packagePath } from '../../apps/shared/config/package-root.ts';

/** The machine of a test may stand still. A benchmark measures that. */
const ALWAYS = process.env['JEST_WORKER_ID'] === undefined ? [] : ['running-clock.mjs'];

/** Variables with which a process loads these scripts of this folder before anything else. */
export const preloading = (...scripts: readonly string[]): Record<string, string> => ({
  NODE_OPTIONS: [...ALWAYS, ...scripts]
    .map((script) => `--import ${pathToFileURL(packagePath('test', 'support', script)).href}`)
    .join(' '),
});
