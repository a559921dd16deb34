import { stopServers } from './stop-servers.ts';
import { createTestRun, deleteTestRun } from './test-run.ts';

/** For programs that are no jest run: the test database may be asked for while the work lasts. Whatever was started is stopped. */
export async function withOwnServers<T>(work: () => Promise<T>): Promise<T> {
  const folder = createTestRun();
  try {
    return await work();
  } finally {
    await stopServers(folder);
    deleteTestRun(folder);
  }
}
