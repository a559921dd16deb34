import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { adoptCluster, clusterPassword, clusterPaths } from '../../apps/shared/embedded/postgres-cluster.ts';
import { adoptTemporal } from '../../apps/shared/embedded/temporal.ts';

/** Stops every server that lives in the folder of a test run, whichever process started it. */
export async function stopServers(folder: string): Promise<void> {
  if (existsSync(join(folder, 'postgres'))) {
    const paths = clusterPaths(folder);
    await (await adoptCluster(paths, clusterPassword(paths)))?.stop();
  }
  await (await adoptTemporal(folder))?.stop();
}
