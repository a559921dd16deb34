import { stopServers } from './stop-servers.ts';
import { createTestRun, deleteTestRun } from './test-run.ts';

/**
 * For programs outside of jest: the test database is available while the work lasts. All started servers are stopped.
 */
export async function withOwnServers<T>(work: () => Promise<T>): Promise<T> {
  const folder = createTestRun();
  try {
    return await work();
  } finally {
    await stopServers(folder);
    deleteTestRun(folder);
  }
}
