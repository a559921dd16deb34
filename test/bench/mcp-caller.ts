import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { send } from '../support/gateway-wire.ts';

/** Calls a tool with the official client and throws when the answer is an error. */
export type CallTool = (name: string, args: Record<string, unknown>) => Promise<unknown>;

/** Official clients, one per caller, as separate agents would have them. */
export async function connectClients(
  url: string,
  count: number,
  token?: string,
): Promise<{ callers: CallTool[]; close(): Promise<void> }> {
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const clients = await Promise.all(
    Array.from({ length: count }, async () => {
      const client = new Client({ name: 'bench', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } });
      await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
      return client;
    }),
  );
  return {
    callers: clients.map((client) => async (name, args) => {
      const result = await client.callTool({ name, arguments: args });
      if (result.isError) throw new Error(`${name} failed: ${JSON.stringify(result.content)}`);
      return result;
    }),
    close: async () => void (await Promise.all(clients.map((client) => client.close()))),
  };
}

/** One bare `tools/call` of a client with tasks, without the cost of a client library. Answers the result. */
export async function callBare(
  url: string,
  token: string,
  call: { name: string; arguments: Record<string, unknown> },
): Promise<{ resultType?: string; taskId?: string; isError?: boolean; content?: unknown }> {
  const { status, body } = await send({ mcpUrl: url }, 'tools/call', call, { token });
  if (body.result === undefined) throw new Error(`${status}: ${body.error?.message ?? 'no result'}`);
  return body.result;
}

/** Opens a gated call and answers its task id. Throws when the answer is not a task. */
export async function openGatedCall(
  url: string,
  token: string,
  call: { name: string; arguments: Record<string, unknown> },
): Promise<string> {
  const result = await callBare(url, token, call);
  if (result.taskId === undefined) throw new Error(`expected a task, got ${JSON.stringify(result)}`);
  return result.taskId;
}
