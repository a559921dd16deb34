import { auth } from '@modelcontextprotocol/sdk/client/auth.js';
import { MultiServerMCPClient } from '@langchain/mcp-adapters';
import { authProvider, headers, takeSteps, url } from './common.mjs';

// The adapters hide the transport, so the program signs in with the SDK first.
if (authProvider !== undefined && (await auth(authProvider, { serverUrl: url })) === 'REDIRECT') {
  await auth(authProvider, { serverUrl: url, authorizationCode: (await authProvider.answer()).get('code') });
}
const server = { transport: 'http', url, headers, automaticSSEFallback: false, ...(authProvider && { authProvider }) };
const client = new MultiServerMCPClient({ mcpServers: { countersign: server }, onProgress: () => undefined });
const tools = new Map((await client.getTools()).map((tool) => [tool.name, tool]));
await takeSteps({
  names: async () => [...tools.keys()],
  call: (name, args) => tools.get(name).invoke(args),
});
await client.close();
process.exit();
