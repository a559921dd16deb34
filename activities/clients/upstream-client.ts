import type { Client, PriorDiscovery, Transport } from '@modelcontextprotocol/client';
import type { Logger } from 'pino';
import type { Limits } from '../../apps/shared/limits.ts';
import type { Json } from '../../workflows/domain/canonical-json.ts';
import { TaskTakingClient } from './task-taking-client.ts';
import { Exchange } from './upstream-exchange.ts';

const CLIENT_INFO = { name: 'countersign', version: '0.1.0' };

/** A client that is not connected, and declares no capability. */
export function createClient(log: Logger, limits: Limits): Client {
  const client = new TaskTakingClient(CLIENT_INFO, {
    capabilities: {},
    versionNegotiation: { mode: 'auto', probe: { timeoutMs: limits.upstreamProbeMs } },
  });
  // Only its name: the texts of these errors may quote whole messages, with arguments and results.
  client.onerror = ({ name }) => log.debug({ error: name }, 'upstream connection reports an error');
  client.setNotificationHandler('notifications/message', ({ params: { level, logger, data } }) =>
    Exchange.log({ level, ...(logger !== undefined && { logger }), data: data as Json }),
  );
  return client;
}

/** Connects, and answers which revision the upstream speaks: with it, the next connection need not find that out. */
export async function connectClient(
  client: Client,
  transport: Transport,
  { prior, limits }: { prior: PriorDiscovery | undefined; limits: Limits },
): Promise<PriorDiscovery | undefined> {
  await client.connect(transport, { timeout: limits.upstreamConnectMs, ...(prior && { prior }) });
  if (client.getProtocolEra() === 'legacy') return { kind: 'legacy' };
  const discover = client.getDiscoverResult();
  return discover && { kind: 'modern', discover };
}
