import { pathToFileURL } from 'node:url';
import type * as Errors from '../../workflows/domain/errors.ts';
import { packagePath } from '../../apps/shared/config/files.ts';

/** A module of the build: the rig runs the code that ships, with only its ports taken apart. */
export async function fromBuild<Module>(path: string): Promise<Module> {
  return (await import(pathToFileURL(packagePath('dist', path)).href)) as Module;
}

export async function errorClassOfBuild(): Promise<typeof Errors.CountersignError> {
  return (await fromBuild<typeof Errors>('workflows/domain/errors.js')).CountersignError;
}

/** The folder that steers the failpoints of this process. */
export function failpointFolder(): string {
  const folder = process.env['CRASH_FAILPOINTS'];
  if (folder === undefined) throw new Error('CRASH_FAILPOINTS names no folder');
  return folder;
}
