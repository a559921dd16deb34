import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeRunFolder, RUN_FOLDER } from './run-folder.mjs';

/** Makes the folder in which the servers of a run live, and tells processes that this one starts about it. */
export const createTestRun = (): string => (process.env[RUN_FOLDER] = makeRunFolder());

/** The folder of the run this process belongs to. */
export function testRunFolder(): string {
  const folder = process.env[RUN_FOLDER];
  if (folder === undefined) throw new Error('no test run: jest needs test/support/global-setup.ts');
  return folder;
}

/** A new folder for a test's own servers: inside that of the run, whose end is then theirs, if this process belongs to one. */
export const ownFolder = (prefix: string): string => mkdtempSync(join(process.env[RUN_FOLDER] ?? tmpdir(), prefix));

export function deleteTestRun(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
}
