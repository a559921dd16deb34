import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../shared/config/config.ts';

/** Where the file server of the example configuration keeps its files. The start makes the folder. */
export const exampleFiles = ({ stateDir }: Pick<Config, 'stateDir'>): string => join(stateDir, 'files');

/** Whether an upstream cannot run before the first start, which makes its folder. */
export function awaitsFirstStart(config: Pick<Config, 'stateDir' | 'mcpServers'>, upstream: string): boolean {
  const folder = exampleFiles(config);
  const server = config.mcpServers[upstream];
  return server !== undefined && 'args' in server && server.args.includes(folder) && !existsSync(folder);
}
