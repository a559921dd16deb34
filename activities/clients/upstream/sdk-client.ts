import { Client, type PriorDiscovery, type Transport, type JSONRPCResponse } from '@modelcontextprotocol/client';
import type { Logger } from 'pino';
import type { Limits } from '../../../apps/shared/limits.ts';
import type { Json, JsonObject } from '../../../workflows/domain/canonical-json.ts';
import type { LogMessage } from '../../../workflows/domain/upstream-ports.ts';

const CLIENT_INFO = { name: 'countersign', version: '0.1.0' };

/** A client that is not connected. It declares no capability by default. `onLog` gets the log messages of its upstream. */
export function createClient(
  { log, limits }: { readonly log: Logger; readonly limits: Limits },
  onLog: (message: LogMessage) => void,
  capabilities: JsonObject = {},
): Client {
  const client = new TaskTakingClient(CLIENT_INFO, {
    capabilities,
    versionNegotiation: { mode: 'auto', probe: { timeoutMs: limits.upstreamProbeMs } },
  });
  // Only its name: the texts of these errors may quote whole messages, with arguments and results.
  client.onerror = ({ name }) => log.debug({ error: name }, 'the connection to the upstream reports an error');
  client.setNotificationHandler('notifications/message', ({ params: { level, logger, data } }) =>
    onLog({ level, ...(logger !== undefined && { logger }), data: data as Json }),
  );
  return client;
}

/** Connects, and answers which revision the upstream speaks: with it, the next connection needs no probe. */
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

/** In place of a result that the SDK's client knows nothing of. */
const WHOLE = Symbol('the whole result');

/** The SDK's client, which also accepts a task as an answer. The SDK itself would refuse it, and lose its content. */
class TaskTakingClient extends Client {
  protected override _onresponse(response: JSONRPCResponse): void {
    const result: unknown = 'result' in response ? response.result : undefined;
    const isTask = (result as { resultType?: unknown } | undefined)?.resultType === 'task';
    if (!isTask || this.getProtocolEra() !== 'modern') return super._onresponse(response);
    const accepted = { resultType: 'complete', content: [], [WHOLE]: result };
    super._onresponse({ ...response, result: accepted });
  }
}

/** The upstream's own result, from the one that the client hands out. */
const wholeResult = (result: unknown): unknown => (result as { [WHOLE]?: unknown } | null)?.[WHOLE] ?? result;

/** A schema that accepts every result and changes none, so that answers of the upstream arrive complete. */
export const asItIs = {
  '~standard': {
    version: 1 as const,
    vendor: 'countersign',
    validate: (value: unknown) => ({ value: wholeResult(value) }),
  },
};
