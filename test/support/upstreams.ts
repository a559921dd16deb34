import { pino, type Logger } from 'pino';
import { createUpstreams, type UpstreamPool } from '../../activities/clients/upstream.ts';
import { parseConfig } from '../../apps/shared/config/config.ts';

/** The upstreams of a configuration that says this about them and their tools, and leaves the rest as it is by default. */
export function openUpstreams(
  mcpServers: object,
  log: Logger = pino({ level: 'silent' }),
  tools: object = {},
): UpstreamPool {
  const config = parseConfig({ mcpServers, tools }, { baseDir: '/', stateDir: '/' });
  return createUpstreams(config.mcpServers, log, config.tools);
}
