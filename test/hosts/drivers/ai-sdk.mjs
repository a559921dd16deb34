import { auth, createMCPClient } from '@ai-sdk/mcp';
import { authProvider, headers, takeSteps, url } from './common.mjs';

if (authProvider !== undefined && (await auth(authProvider, { serverUrl: url })) === 'REDIRECT') {
  const answer = await authProvider.answer();
  const [authorizationCode, callbackState] = [answer.get('code'), answer.get('state')];
  await auth(authProvider, { serverUrl: url, authorizationCode, callbackState });
}
const transport = { type: 'http', url, headers, ...(authProvider && { authProvider }) };
const client = await createMCPClient({ transport });
const tools = await client.tools();
await takeSteps({
  names: async () => Object.keys(tools),
  call: (name, args) => tools[name].execute(args, { toolCallId: '1', messages: [] }),
});
await client.close();
process.exit();
