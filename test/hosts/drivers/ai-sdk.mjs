import { auth, createMCPClient } from '@ai-sdk/mcp';
import { authProvider, headers, takeSteps, url } from './common.mjs';

const server = {};
// What this client keeps in addition to those of the official SDKs.
const provider = authProvider && {
  ...authProvider,
  storedState: authProvider.state,
  saveState: () => undefined,
  authorizationServerInformation: () => server.information,
  saveAuthorizationServerInformation: (information) => void (server.information = information),
};
if (provider !== undefined && (await auth(provider, { serverUrl: url })) === 'REDIRECT') {
  const { code, state, iss } = Object.fromEntries(await provider.answer());
  await auth(provider, { serverUrl: url, authorizationCode: code, callbackState: state, callbackIssuer: iss });
}
const transport = { type: 'http', url, headers, ...(provider && { authProvider: provider }) };
const client = await createMCPClient({ transport });
const tools = await client.tools();
await takeSteps({
  names: async () => Object.keys(tools),
  call: (name, args) => tools[name].execute(args, { toolCallId: '1', messages: [] }),
});
await client.close();
process.exit();
