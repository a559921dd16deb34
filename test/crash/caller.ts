import { setTimeout as pause } from 'node:timers/promises';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { rawDispatchOver } from '../../apps/cli/demo/agent.ts';

const REVISION = '2026-07-28';
const CLIENT_INFO = { name: 'crash-caller', version: '1.0.0' };
const CAPABILITIES = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
const REQUEST_MS = 15_000;
const REPEAT_MS = 150;
/** A client gives up after it has been told "later" for this long. */
const GIVE_UP_MS = 120_000;

export type Answer = Record<string, unknown>;

/** One agent: the official MCP client, which repeats failed calls, as agents do. */
export interface Caller {
  readonly name: string;
  /** Calls a tool until an answer is not an error. Answers it with the number of failures before. */
  request(method: string, params: Record<string, unknown>): Promise<Answer>;
  close(): Promise<void>;
}

export async function connectCaller(mcpUrl: string, { name, token }: { name: string; token: string }): Promise<Caller> {
  const client = new Client(CLIENT_INFO, {
    capabilities: CAPABILITIES,
    versionNegotiation: { mode: { pin: REVISION } },
  });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(mcpUrl), {
      requestInit: { headers: { authorization: `Bearer ${token}` } },
    }),
  );
  const dispatch = rawDispatchOver(client);

  const once = (method: string, params: Record<string, unknown>) =>
    dispatch(
      {
        method,
        params: {
          ...params,
          _meta: {
            'io.modelcontextprotocol/protocolVersion': REVISION,
            'io.modelcontextprotocol/clientInfo': CLIENT_INFO,
            'io.modelcontextprotocol/clientCapabilities': CAPABILITIES,
          },
        },
      },
      { context: { requestTimeoutMs: REQUEST_MS } },
    );

  return {
    name,
    async request(method, params) {
      const giveUpAt = Date.now() + GIVE_UP_MS;
      for (;;) {
        const answer = await once(method, params).catch((error: unknown) => ({ kind: 'lost' as const, error }));
        if (answer.kind === 'result') return answer.result as Answer;
        if (Date.now() > giveUpAt) throw new Error(`${method} got no answer: ${describe(answer)}`);
        await pause(REPEAT_MS);
      }
    },
    close: () => client.close(),
  };
}

function describe(answer: { kind: string; error?: unknown }): string {
  return answer.error instanceof Error ? answer.error.message : JSON.stringify(answer.error);
}
