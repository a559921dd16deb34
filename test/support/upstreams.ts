import { pino, type Logger } from 'pino';
import { createUpstreams, type UpstreamPool } from '../../activities/clients/upstream/pool.ts';
import { createResultCheck } from '../../apps/shared/schemas/schema-check.ts';
import { parseConfig } from '../../apps/shared/config/config.ts';
import type { Timing } from '../../apps/shared/limits.ts';
import { patiently } from './wait-for.ts';
import { ORDINARY_LIMITS, systemTime } from './time.ts';

/**
 * The upstreams of a configuration with these members for them and their tools, and the defaults for the rest. Each is
 * parsed separately: a configuration may not have two whose tools could get the same names.
 */
export function openUpstreams(
  mcpServers: object,
  log: Logger = pino({ level: 'silent' }),
  tools: object = {},
  time: Timing = systemTime,
): UpstreamPool {
  const read = (of: object) => parseConfig(of, { baseDir: '/', stateDir: '/' });
  const servers = Object.entries(mcpServers).map(
    ([name, server]) => read({ mcpServers: { [name]: server } }).mcpServers,
  );
  // A check that meets its limit uses the processor until then.
  const known = { settings: read({ tools }).tools, fitsOutput: createResultCheck(ORDINARY_LIMITS) };
  return createUpstreams(Object.assign({}, ...servers), log, { ...known, ...time });
}

/**
 * Waits until these tools are there, by their public names. Lists and look-ups wait some seconds for upstreams that are
 * still connecting, by the clock: on a slow machine their programs may not have started by then.
 */
export async function untilFound(pool: Pick<UpstreamPool, 'find'>, ...names: readonly string[]): Promise<void> {
  await Promise.all(names.map((name) => patiently(() => pool.find(name))));
}
