import { pathToFileURL } from 'node:url';
import { packagePath } from '../../apps/shared/config/package-root.ts';

/** Variables with which a process loads a script of this folder before anything else. */
export const preloading = (script: string): Record<string, string> => ({
  NODE_OPTIONS: `--import ${pathToFileURL(packagePath('test', 'support', script)).href}`,
});
