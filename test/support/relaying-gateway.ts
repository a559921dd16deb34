import { startConversingUpstream } from './conversing-upstream.ts';
import { send, type SendOptions } from './gateway-wire.ts';
import { startRealGateway } from './real-gateway.ts';
import { waitFor } from './wait-for.ts';

/** The capabilities of a client that can be asked everything. */
export const EVERYTHING = { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: {} };

/**
 * A gateway that allows every call, before an upstream that asks and opens tasks. Results of the named tools are
 * withheld.
 */
export async function startRelayingGateway(...sensitive: readonly string[]) {
  const upstream = await startConversingUpstream();
  const tools = Object.fromEntries(sensitive.map((name) => [name, { resultSensitivity: 'restricted' }]));
  const real = await startRealGateway(
    { redactAbove: 'internal', maxPollsPerSecond: 1_000 },
    { mcpServers: { up: { url: upstream.url } }, tools },
  );
  await waitFor(async () => (await real.send('tools/list', {})).text.includes('up__greet'));
  async function ask(method: string, params: Record<string, unknown>, options: SendOptions = {}) {
    const token = options.token ?? (await real.authority.token({ aud: real.mcpUrl }));
    return send(real, method, params, { capabilities: EVERYTHING, ...options, token });
  }
  return {
    upstream,
    real,
    ask,
    call: (params: Record<string, unknown>, options?: SendOptions) => ask('tools/call', params, options),
    reset(): void {
      real.reset();
      upstream.reset();
      real.authority.decide = () => ({ decision: true });
    },
    async stop(): Promise<void> {
      await real.stop();
      await upstream.close();
    },
  };
}

export const asking = (name: string) => ({ name: `up__test_input_required_result_${name}`, arguments: {} });
