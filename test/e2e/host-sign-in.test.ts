import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as EarlierClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as EarlierTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { decodeJwt } from 'jose';
import {
  approvedEnd,
  type CallTool,
  clientInfo,
  nextStepOf,
  STEP_BY_STEP,
  wordsOf,
} from '../support/foreign-clients.ts';
import { heldCalls } from '../support/held-calls.ts';
import { IS_THOROUGH } from '../support/regime.ts';
import { allowing, SigningInHost } from '../support/signing-in-client.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { StdioProgram } from '../support/stdio-program.ts';
import { waitFor } from '../support/wait-for.ts';

let stack: Stack;
const { writes } = heldCalls(() => stack);
beforeAll(async () => {
  const parts = IS_THOROUGH ? 'together' : 'here';
  stack = await startStack({ parts, servers: 'shared', config: { gateway: STEP_BY_STEP } });
});
afterAll(() => stack?.stop());

interface Connected {
  readonly call: CallTool;
  readonly close: () => Promise<void>;
}

/** Connects as a host does: tries, signs in when the server asks for a token, and tries again. */
async function connected<T>(host: SigningInHost, attempt: () => Promise<T>, finish: () => Promise<void>): Promise<T> {
  const before = host.pages;
  try {
    return await attempt();
  } catch (error) {
    if (host.pages === before) throw error;
    await finish();
    return attempt();
  }
}

async function connectPresent(host: SigningInHost, url: URL): Promise<Connected> {
  const transport = () => new StreamableHTTPClientTransport(url, { authProvider: host });
  const attempt = async () => {
    const client = new Client(clientInfo);
    await client.connect(transport());
    return client;
  };
  const client = await connected(host, attempt, async () => transport().finishAuth(await host.answer()));
  return { call: (call) => client.callTool(call), close: () => client.close() };
}

async function connectEarlier(host: SigningInHost, url: URL): Promise<Connected> {
  const transport = () => new EarlierTransport(url, { authProvider: host });
  const attempt = async () => {
    const client = new EarlierClient(clientInfo);
    await client.connect(transport());
    return client;
  };
  const finish = async () => transport().finishAuth((await host.answer()).get('code') ?? '');
  const client = await connected(host, attempt, finish);
  return { call: async (call) => await client.callTool(call), close: () => client.close() };
}

async function isApproved(call: CallTool, name: string): Promise<void> {
  const path = join(stack.files, name);
  const args = { path, content: path };
  const { tool } = nextStepOf(await call({ name: 'files__write_file', arguments: args }));
  const requested = await call({ name: tool, arguments: { tool: 'files__write_file', arguments: args } });
  const end = await approvedEnd(stack, call, requested);
  expect([end.isError ?? false, wordsOf(end)]).toEqual([false, expect.stringContaining('Successfully wrote')]);
  expect(writes(path)).toBe(1);
}

const CLIENTS = [
  ['present', connectPresent, '127.0.0.1'],
  ['earlier', connectEarlier, 'localhost'],
] as const;
const hosts = new Map<string, SigningInHost>();
const urlAt = (name: string) => new URL(stack.config.urls.mcp.replace('127.0.0.1', name));
afterAll(() => Promise.all([...hosts.values()].map((host) => host.stop())));

describe.each(CLIENTS)('the official %s client', (which, connect, name) => {
  it(`signs a person in at ${name}, and has a call approved by a colleague`, async () => {
    const host = await new SigningInHost(allowing(stack.config.urls.issuer, 'bob')).start();
    hosts.set(which, host);
    const { call, close } = await connect(host, urlAt(name));
    expect(host.pages).toBe(1);
    expect(decodeJwt(host.kept.tokens?.access_token ?? '')).toMatchObject({
      sub: 'bob',
      aud: stack.config.urls.mcp,
      client_id: host.kept.client?.['client_id'],
    });

    await isApproved(call, `of-a-signed-in-${which}-client`);
    await close();
  });
});

it('a host that only launches programs signs a person in by `countersign stdio`, and has a call approved', async () => {
  const file = join(stack.folder, 'countersign.yaml');
  const program = new StdioProgram({ COUNTERSIGN_CONFIG: file, COUNTERSIGN_STATE: stack.stateDir });
  const client = new Client(clientInfo);
  const connecting = client.connect(new StdioClientTransport(program.server()));
  const address = await waitFor(() => program.opened[0]);
  const signedIn = await allowing(stack.config.urls.issuer, 'bob')(address);
  expect(await signedIn.text()).toContain('You are signed in');
  await connecting;
  await isApproved((call) => client.callTool(call), 'of-a-launched-program');
  await client.close();
});

// What the issuer keeps of hosts is in its file before it answers, so a crash takes no more than a stop does.
async function crashOrRestart(): Promise<void> {
  if (!IS_THOROUGH) return stack.restartHere();
  await stack.kill('up');
  await stack.startPart('up');
}

describe(`after a ${IS_THOROUGH ? 'crash' : 'restart'} of the product`, () => {
  beforeAll(crashOrRestart);

  it.each(CLIENTS)(
    'the official %s client refreshes an expired token, and asks no person',
    async (which, connect, name) => {
      const host = hosts.get(which);
      if (host === undefined) throw new Error('not signed in');
      const refreshToken = host.kept.tokens?.refresh_token;
      host.kept.tokens = { ...host.kept.tokens, access_token: 'expired' };
      const { call, close } = await connect(host, urlAt(name));
      const look = { name: 'files__list_directory', arguments: { path: stack.files } };
      expect(wordsOf(await call(look))).toContain(`of-a-signed-in-${which}-client`);
      expect(host.pages).toBe(1);
      expect(host.kept.tokens?.refresh_token).not.toBe(refreshToken);
      await close();
    },
  );
});
