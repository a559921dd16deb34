import { MCPServerStreamableHttp } from '@openai/agents';
import { auth } from '@modelcontextprotocol/client';
import { authProvider, headers, takeSteps, url } from './common.mjs';

// The SDK of agents hides the transport, so the program signs in with the SDK of MCP first.
if (authProvider !== undefined && (await auth(authProvider, { serverUrl: url })) === 'REDIRECT') {
  const answer = await authProvider.answer();
  await auth(authProvider, { serverUrl: url, authorizationCode: answer.get('code'), iss: answer.get('iss') });
}
const server = new MCPServerStreamableHttp({ url, name: 'host-agents', authProvider, requestInit: { headers } });
await server.connect();
await takeSteps({
  names: async () => (await server.listTools()).map(({ name }) => name),
  call: (name, args) => server.callTool(name, args),
});
await server.close();
process.exit();
