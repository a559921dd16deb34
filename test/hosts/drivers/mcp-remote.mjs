import { createRequire } from 'node:module';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { headers, takeSteps, url } from './common.mjs';

const { env } = process;
const own = createRequire(import.meta.url).resolve('mcp-remote/dist/proxy.js');
const document = env.HOST_DOCUMENT === undefined ? [] : ['--client-metadata-url', env.HOST_DOCUMENT];
const token = headers.authorization === undefined ? [] : ['--header', `Authorization:${headers.authorization}`];
const transport = new StdioClientTransport({
  command: process.execPath,
  args: [own, url, env.HOST_CALLBACK_PORT, '--transport', 'http-only', ...document, ...token],
  env: { ...env, MCP_REMOTE_CONFIG_DIR: env.XDG_CONFIG_HOME },
});
const client = new Client({ name: 'host-stdio', version: '0' });
await client.connect(transport);
const onprogress = () => undefined;
await takeSteps({
  names: async () => (await client.listTools()).tools.map(({ name }) => name),
  call: (name, args) =>
    client.callTool({ name, arguments: args }, undefined, { onprogress, resetTimeoutOnProgress: true }),
});
await client.close();
process.exit();
