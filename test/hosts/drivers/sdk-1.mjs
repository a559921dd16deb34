import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { authProvider, headers, takeSteps, url } from './common.mjs';

const newTransport = () => new StreamableHTTPClientTransport(new URL(url), { authProvider, requestInit: { headers } });

async function connected() {
  const client = new Client({ name: 'host-sdk-1', version: '0' });
  const transport = newTransport();
  try {
    await client.connect(transport);
    return client;
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error;
    await transport.finishAuth((await authProvider.answer()).get('code'));
    return connected();
  }
}

const client = await connected();
const onprogress = () => undefined;
await takeSteps({
  names: async () => (await client.listTools()).tools.map(({ name }) => name),
  call: (name, args) =>
    client.callTool({ name, arguments: args }, undefined, { onprogress, resetTimeoutOnProgress: true }),
});
await client.close();
process.exit();
