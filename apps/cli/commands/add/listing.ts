import type { Logger } from 'pino';
import { namePrefixOf } from '../../../../workflows/domain/tools/wire-names.ts';
import { ITEM_KINDS, type UpstreamTool } from '../../../../workflows/domain/upstream-ports.ts';
import type { connectUpstreams } from '../../../gateway/main.ts';
import { systemClock } from '../../../shared/clock.ts';
import type { Config } from '../../../shared/config/config.ts';
import { reason } from '../doctor/check.ts';
import { CliError, visible } from '../../context.ts';

export type UpstreamPool = ReturnType<typeof connectUpstreams>;

/** What servers list, read over connections that the caller closes. */
export interface Listing {
  readonly tools: readonly UpstreamTool[];
  /** How many prompts, resources and templates each server lists. */
  readonly others: Readonly<Record<string, number>>;
  /** Tools that cannot be offered, with the reason. */
  readonly refused: readonly { readonly name: string; readonly reason: string }[];
  /** Servers that cannot be used, with the reason and the next step. */
  readonly failed: readonly { readonly name: string; readonly problem: CliError }[];
  readonly upstreams: UpstreamPool;
}

/** Connects to these servers of the configuration and lists what they have. */
export async function listServers(config: Config, names: readonly string[], log: Logger): Promise<Listing> {
  // Loaded on demand, because it brings the clients of all services.
  const gateway = await import('../../../gateway/main.ts');
  const mcpServers = Object.fromEntries(Object.entries(config.mcpServers).filter(([name]) => names.includes(name)));
  const upstreams = gateway.connectUpstreams({ ...config, mcpServers }, { clock: systemClock, log });
  try {
    const failed = await failedServers(upstreams, mcpServers);
    const tools = await upstreams.tools();
    const items = (await Promise.all(ITEM_KINDS.map((kind) => upstreams.items.list(kind)))).flat();
    const others = names.map((name) => [name, items.filter(({ upstream }) => upstream === name).length] as const);
    return { tools, others: Object.fromEntries(others), refused: upstreams.refused(), failed, upstreams };
  } catch (error) {
    await upstreams.close();
    throw error;
  }
}

/** Has each of these servers list its tools, also one that starts slowly. Resolves to those that cannot be used. */
export async function failedServers(
  upstreams: Pick<UpstreamPool, 'find'>,
  mcpServers: Config['mcpServers'],
): Promise<Listing['failed']> {
  const tried = await Promise.all(Object.entries(mcpServers).map((entry) => problemOf(upstreams, entry)));
  return tried.filter((one) => one !== undefined);
}

async function problemOf(
  upstreams: Pick<UpstreamPool, 'find'>,
  [name, server]: [string, Config['mcpServers'][string]],
): Promise<Listing['failed'][number] | undefined> {
  try {
    // Any name with its prefix makes the pool connect and list.
    const { prefix = name } = server;
    await upstreams.find(namePrefixOf(prefix), { live: true });
    return undefined;
  } catch (error) {
    const next =
      'url' in server
        ? 'check the address and the credential (--token-env, --token-file, --header)'
        : 'start the program by hand once, as a first start may have to download it, and check its arguments and --env';
    const why = visible(reason(error).replace(/[.]$/, ''));
    return { name, problem: new CliError(`${visible(name)} cannot be used: ${why}; ${next}`) };
  }
}
