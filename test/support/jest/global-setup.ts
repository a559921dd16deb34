import { stopServers } from '../stop-servers.ts';
import { abandonedTestRuns, createTestRun, deleteTestRun } from '../test-run.ts';

/** Servers start when a test file first asks for one, so a run of unit tests waits for none. */
export default async function globalSetup(): Promise<void> {
  for (const folder of abandonedTestRuns()) {
    await stopServers(folder);
    deleteTestRun(folder);
  }
  createTestRun();
}
