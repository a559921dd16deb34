import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client';
import { authProvider, headers, takeSteps, url } from './common.mjs';

const newTransport = () => new StreamableHTTPClientTransport(new URL(url), { authProvider, requestInit: { headers } });

async function connected() {
  const client = new Client({ name: 'host-sdk-2', version: '0' }, { versionNegotiation: { mode: 'auto' } });
  const transport = newTransport();
  try {
    await client.connect(transport);
    return client;
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error;
    await transport.finishAuth(await authProvider.answer());
    return connected();
  }
}

const client = await connected();
const onprogress = () => undefined;
await takeSteps({
  names: async () => (await client.listTools()).tools.map(({ name }) => name),
  call: (name, args) => client.callTool({ name, arguments: args }, { onprogress, resetTimeoutOnProgress: true }),
});
await client.close();
process.exit();
