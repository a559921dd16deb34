import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PREFIX = 'countersign-test-';
const VARIABLE = 'COUNTERSIGN_TEST_RUN';

/** Makes the folder in which the servers of one jest run live, and tells the workers about it. */
export function createTestRun(): string {
  const folder = mkdtempSync(join(tmpdir(), `${PREFIX}${process.pid}-`));
  process.env[VARIABLE] = folder;
  return folder;
}

/** The folder of the jest run this process belongs to. */
export function testRunFolder(): string {
  const folder = process.env[VARIABLE];
  if (folder === undefined) throw new Error('no test run: jest needs test/support/global-setup.ts');
  return folder;
}

/** Folders of runs whose process was killed before it could stop its servers. */
export function abandonedTestRuns(): string[] {
  return readdirSync(tmpdir())
    .filter((name) => name.startsWith(PREFIX))
    .filter((name) => {
      const pid = Number(name.slice(PREFIX.length).split('-')[0]);
      try {
        return pid > 0 && process.kill(pid, 0) && false;
      } catch {
        return true;
      }
    })
    .map((name) => join(tmpdir(), name));
}

export function deleteTestRun(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
}
