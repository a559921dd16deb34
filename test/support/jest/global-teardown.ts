import { stopServers } from '../stop-servers.ts';
import { deleteTestRun, testRunFolder } from '../test-run.ts';

/** jest calls this also when tests have failed. */
export default async function globalTeardown(): Promise<void> {
  const folder = testRunFolder();
  await stopServers(folder);
  deleteTestRun(folder);
}
