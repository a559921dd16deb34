// A host for the client scenarios of the conformance suite: it starts `countersign stdio` as its server, lists the tools and calls them.
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const PRESENT = '2026-07-28';
const PROGRAM = fileURLToPath(new URL('../../dist/apps/cli/main.js', import.meta.url));

const {
  PATH = '',
  MCP_CONFORMANCE_CONTEXT = '{}',
  MCP_CONFORMANCE_SCENARIO = '',
  MCP_CONFORMANCE_PROTOCOL_VERSION: revision,
} = process.env;
const { client_id: id, client_secret: secret, toolCalls } = JSON.parse(MCP_CONFORMANCE_CONTEXT);
const home = mkdtempSync(join(tmpdir(), 'countersign-host-'));

/** A browser that follows redirects: the issuers of the suite ask no person. */
function followingBrowser() {
  const file = join(home, 'browser');
  writeFileSync(file, `#!/bin/sh\nexec '${process.execPath}' -e 'fetch(process.argv[1])' "$1"\n`);
  chmodSync(file, 0o755);
  return file;
}

const server = {
  command: process.execPath,
  args: [PROGRAM, 'stdio', '--url', process.argv.at(-1), ...(id === undefined ? [] : ['--client-id', id])],
  env: {
    ...{ PATH, COUNTERSIGN_HOME: home, BROWSER: followingBrowser() },
    ...(secret !== undefined && { COUNTERSIGN_CLIENT_SECRET: secret }),
    // The servers of the other scenarios take any token.
    ...(!MCP_CONFORMANCE_SCENARIO.startsWith('auth/') && { COUNTERSIGN_TOKEN: 'any' }),
  },
};
const versionNegotiation = revision === PRESENT ? { mode: { pin: PRESENT } } : { mode: 'legacy' };
const client = new Client({ name: 'conformance', version: '0' }, { versionNegotiation });
try {
  await client.connect(new StdioClientTransport(server));
  const { tools } = await client.listTools();
  const calls = toolCalls ?? tools.map(({ name }) => ({ name, arguments: { a: 1, b: 2 } }));
  for (const call of calls) await client.callTool(call).catch((error) => console.error(String(error)));
} finally {
  await client.close();
  rmSync(home, { recursive: true, force: true });
}
