import type { Config } from '../../../shared/config/config.ts';
import { failedServers, type UpstreamPool } from '../add/listing.ts';
import type { Offered } from './rules.ts';

/**
 * The tools of all servers. Waits for servers that start slowly, as for a package that has to be downloaded: advice from a part of the tools
 * would be wrong.
 */
export async function listed(
  upstreams: Pick<UpstreamPool, 'find' | 'tools' | 'refused'>,
  { mcpServers }: Pick<Config, 'mcpServers'>,
): Promise<Offered> {
  const failed = await failedServers(upstreams, mcpServers);
  const [tools, refused] = [await upstreams.tools(), upstreams.refused()];
  const hasListed = (server: string) => [...tools, ...refused].some(({ upstream }) => upstream === server);
  // A server without a prefix is asked for every name, so that its failure may have been taken for that of another.
  const unlisted = failed.filter(({ name }) => !hasListed(name)).map(({ name, problem }) => [name, problem.message]);
  return { tools, refused, unlisted: new Map(unlisted as [string, string][]) };
}
