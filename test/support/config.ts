import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { parseConfig, type Config } from '../../apps/shared/config/config.ts';

const SECTIONS = ['gateway', 'pdp', 'approvals', 'audit', 'identity'] as const;

/** A configuration whose servers all have a free port of their own. `raw` wins over it, section by section. */
export async function testConfig(
  at: { baseDir: string; stateDir: string },
  raw: Record<string, Record<string, unknown>> & { mode?: never } = {},
): Promise<Config> {
  const ports = await freePorts(SECTIONS.length);
  const sections = SECTIONS.map((section, index) => [section, { port: ports[index], ...raw[section] }]);
  return parseConfig({ ...raw, ...Object.fromEntries(sections) }, at);
}

/** Different ports that nobody listens on: all are held until the last one is known. */
async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}
