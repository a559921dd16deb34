import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../shared/config/config.ts';

/** Folder of the file server of the example configuration. `countersign up` makes it. */
export const exampleFiles = ({ stateDir }: Pick<Config, 'stateDir'>): string => join(stateDir, 'files');

/** Whether an upstream needs the folder that the first start makes. */
export function awaitsFirstStart(config: Pick<Config, 'stateDir' | 'mcpServers'>, upstream: string): boolean {
  const folder = exampleFiles(config);
  const server = config.mcpServers[upstream];
  return server !== undefined && 'args' in server && server.args.includes(folder) && !existsSync(folder);
}
