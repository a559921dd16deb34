import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { transfer } from './gateway-wire.ts';

/** A call of the official client of earlier revisions, to a gateway in this process. */
export async function earlierCall({ mcpUrl }: { readonly mcpUrl: string }) {
  const client = new Client({ name: 'earlier', version: '0' });
  const requestInit = { headers: { authorization: 'Bearer token-of-alice' } };
  await client.connect(new StreamableHTTPClientTransport(new URL(mcpUrl), { requestInit }));
  try {
    return await client.callTool(transfer());
  } finally {
    await client.close();
  }
}
