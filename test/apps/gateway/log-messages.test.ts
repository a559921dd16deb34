import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, fromJsonSchema, LOG_LEVEL_META_KEY, McpServer } from '@modelcontextprotocol/server';
import { Client as EarlierClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as EarlierTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { LoggingMessageNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import express from 'express';
import { startRealGateway } from '../../support/real-gateway.ts';
import { serve } from '../../support/serve.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Calls that have logged once, and wait until the test lets them log again. */
let waiting: (() => void)[] = [];
/** The log level of each call. */
let levels: unknown[] = [];
const wordSchema = fromJsonSchema<{ word: string }>({ type: 'object', properties: { word: { type: 'string' } } });

/** A server on the official package, whose tools log their arguments before they answer. */
async function startLoggingUpstream() {
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'logging', version: '1.0.0' }, { capabilities: { logging: {}, tools: {} } });
    for (const name of ['tell', 'whisper']) {
      const described = { description: 'writes a word down', inputSchema: wordSchema };
      server.registerTool(name, described, async ({ word }, { mcpReq }) => {
        levels.push(({ ...mcpReq.envelope } as Record<string, unknown>)[LOG_LEVEL_META_KEY]);
        await mcpReq.log('debug', `${word}: of no interest`);
        await mcpReq.log('info', { word, step: 1 }, 'teller');
        if (word !== 'alone') await new Promise<void>((resolve) => waiting.push(resolve));
        await mcpReq.log('error', { word, step: 2 });
        return { content: [{ type: 'text', text: word }] };
      });
    }
    return server;
  });
  const node = toNodeHandler(handler);
  return serve(express().all('/', (request, response) => void node(request, response)));
}

let upstream: Awaited<ReturnType<typeof startLoggingUpstream>>;
let real: Awaited<ReturnType<typeof startRealGateway>>;
const program = new URL('../../clients/fixtures/crashing-server.mjs', import.meta.url).pathname;
beforeAll(async () => {
  upstream = await startLoggingUpstream();
  const mcpServers = { logs: { url: upstream.url }, files: { command: process.execPath, args: [program] } };
  const tools = { logs__whisper: { resultSensitivity: 'restricted' } };
  real = await startRealGateway({ redactAbove: 'internal' }, { mcpServers, tools });
});
afterAll(async () => {
  await real?.stop();
  await upstream?.close();
});
beforeEach(() => {
  waiting = [];
  levels = [];
  real.authority.decide = () => ({ decision: true });
});

/** A client of an earlier revision, and all its log messages. */
async function earlierClient(sub: string) {
  const client = new EarlierClient({ name: 'earlier', version: '0' });
  const heard: unknown[] = [];
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void heard.push(params));
  const headers = { authorization: `Bearer ${await real.authority.token({ aud: real.mcpUrl, sub })}` };
  await client.connect(new EarlierTransport(new URL(real.mcpUrl), { requestInit: { headers } }));
  const call = (name: string, word?: string) =>
    client.callTool({ name, arguments: word === undefined ? {} : { word } });
  return { client, heard, call };
}

const messagesOf = (word: string) => [
  { level: 'info', logger: 'teller', data: { word, step: 1 } },
  { level: 'error', data: { word, step: 2 } },
];

it('log messages of a tool reach the earlier client that called it, and no simultaneous caller', async () => {
  const [alice, bob] = await Promise.all([earlierClient('alice'), earlierClient('bob')]);
  try {
    const calls = Promise.all([alice.call('logs__tell', 'of alice'), bob.call('logs__tell', 'of bob')]);
    await waitFor(() => waiting.length === 2);
    for (const goOn of waiting) goOn();
    await calls;
    expect(alice.heard).toEqual(messagesOf('of alice'));
    expect(bob.heard).toEqual(messagesOf('of bob'));
  } finally {
    await Promise.all([alice.client.close(), bob.client.close()]);
  }
});

it('a client that sets a log level hears the messages of that level and above, and its tool is told the level', async () => {
  const { client, heard, call } = await earlierClient('alice');
  const debug = { level: 'debug', data: 'alone: of no interest' };
  try {
    expect(await client.setLoggingLevel('debug')).toEqual({});
    await call('logs__tell', 'alone');
    await client.setLoggingLevel('error');
    await call('logs__tell', 'alone');
    expect(heard).toEqual([debug, ...messagesOf('alone'), messagesOf('alone')[1]]);
    expect(levels).toEqual(['debug', 'error']);
  } finally {
    await client.close();
  }
});

it('log messages of a tool with withheld results are not passed on', async () => {
  const { client, heard, call } = await earlierClient('alice');
  try {
    expect(JSON.stringify(await call('logs__whisper', 'alone'))).toContain('withheld');
    expect([heard, levels]).toEqual([[], [undefined]]);
  } finally {
    await client.close();
  }
});

it('log messages of a local program are not passed on, because they may be about any caller', async () => {
  const { client, heard, call } = await earlierClient('alice');
  try {
    expect(await call('files__chatter')).toMatchObject({ content: [{ text: '[-32601,-32601,-32601]' }] });
    expect(heard).toEqual([]);
  } finally {
    await client.close();
  }
});

it('a client of the present revision gets no log messages, even when it asks for them [STATELESS-013]', async () => {
  const _meta = { 'io.modelcontextprotocol/logLevel': 'debug' };
  const { text, body } = await real.send('tools/call', { name: 'logs__tell', arguments: { word: 'alone' }, _meta });
  expect(body.result).toMatchObject({ content: [{ text: 'alone' }] });
  expect(text).not.toContain('notifications/message');
  expect(levels).toEqual([undefined]);
});
