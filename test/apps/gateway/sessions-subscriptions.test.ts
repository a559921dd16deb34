import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { McpServer as EarlierServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { SubscribeRequestSchema, UnsubscribeRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import express, { type Response } from 'express';
import { randomUUID } from 'node:crypto';
import { acceptOffered } from '../../support/accept-offered.ts';
import { startRealGateway } from '../../support/real-gateway.ts';
import { serve } from '../../support/serve.ts';
import { beginSession, type WireSession, type WireStream } from '../../support/session-wire.ts';
import { waitFor } from '../../support/wait-for.ts';

const CONTENTS = { contents: [{ uri: 'x', text: 'x' }] };

interface Filter {
  readonly resourceSubscriptions?: readonly string[];
}

/** A server of the present revision. It announces changes on the streams that its clients open. */
async function startModern() {
  const capabilities = { resources: { subscribe: true, listChanged: true } };
  const streams = new Map<Response, readonly string[]>();
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'modern', version: '1' }, { capabilities });
    for (const name of ['one', 'two']) server.registerResource(name, `modern://${name}`, {}, () => CONTENTS);
    return server;
  });
  const node = toNodeHandler(handler);
  const app = express().use(express.json());
  app.all('/', (request, response) => {
    const { method, params } = (request.body ?? {}) as { method?: string; params?: { notifications?: Filter } };
    if (method === 'subscriptions/listen') {
      streams.set(response, params?.notifications?.resourceSubscriptions ?? []);
      response.once('close', () => streams.delete(response));
    }
    void node(request, response, request.body);
  });
  const server = await serve(app);
  return {
    url: server.url,
    /** The addresses that are in the filter of an open stream. */
    subscribed: () => [...streams.values()].flat(),
    update: async (uri: string) => handler.notify.resourceUpdated(uri),
    close: () => server.close(),
  };
}

/** A server of an earlier revision. It announces changes in the session in which the resource was subscribed to. */
async function startEarlier() {
  const sessions = new Map<string, { transport: StreamableHTTPServerTransport; server: EarlierServer }>();
  const subscribed: string[] = [];
  const begin = async () => {
    const server = new EarlierServer(
      { name: 'earlier', version: '1' },
      { capabilities: { resources: { subscribe: true } } },
    );
    server.registerResource('one', 'earlier://one', {}, () => CONTENTS);
    server.registerResource('refused', 'earlier://refused', {}, () => CONTENTS);
    server.server.setRequestHandler(SubscribeRequestSchema, ({ params: { uri } }) => {
      if (uri === 'earlier://refused') throw new Error('refused');
      subscribed.push(uri);
      return {};
    });
    server.server.setRequestHandler(UnsubscribeRequestSchema, ({ params: { uri } }) => {
      subscribed.splice(subscribed.indexOf(uri), 1);
      return {};
    });
    const transport: StreamableHTTPServerTransport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, { transport, server }),
    });
    await server.connect(transport);
    return transport;
  };
  const app = express().use(express.json());
  app.all('/', async (request, response) => {
    const known = sessions.get(request.header('mcp-session-id') ?? '');
    if (known === undefined && request.header('mcp-session-id') !== undefined) return void response.status(404).end();
    await (known?.transport ?? (await begin())).handleRequest(request, response, request.body);
  });
  const http = await serve(app);
  return {
    url: http.url,
    subscribed: () => [...subscribed],
    update: async (uri: string) => {
      for (const { server } of sessions.values()) await server.server.sendResourceUpdated({ uri });
    },
    /** Forgets its sessions, as after a restart. */
    forget: () => {
      sessions.clear();
      subscribed.length = 0;
    },
    async close() {
      for (const { transport } of sessions.values()) await transport.close();
      await http.close();
    },
  };
}

let modern: Awaited<ReturnType<typeof startModern>>;
let earlier: Awaited<ReturnType<typeof startEarlier>>;
let real: Awaited<ReturnType<typeof startRealGateway>>;
beforeAll(async () => {
  [modern, earlier] = await Promise.all([startModern(), startEarlier()]);
  const mcpServers = { modern: { url: modern.url }, earlier: { url: earlier.url } };
  real = await startRealGateway({}, { mcpServers });
});
afterAll(async () => {
  await real?.stop();
  await modern?.close();
  await earlier?.close();
});
beforeEach(() => {
  real.authority.decide = () => ({ decision: true });
});

async function listening() {
  const token = await real.authority.token({ aud: real.mcpUrl });
  const session = await beginSession(real, { token });
  const stream = await session.listen();
  await waitFor(async () => JSON.stringify(await session.ask('resources/list')).includes('earlier://one'));
  return { session, stream };
}
const updatesOf = (stream: WireStream) =>
  stream.messages().flatMap(({ method, params }) => (method === 'notifications/resources/updated' ? [params] : []));
const subscribe = (session: WireSession, uri: string) => session.ask('resources/subscribe', { uri });
const unsubscribe = (session: WireSession, uri: string) => session.ask('resources/unsubscribe', { uri });

it('a session may subscribe', async () => {
  const { session, stream } = await listening();
  expect(session.agreed).toMatchObject({ capabilities: { resources: { subscribe: true, listChanged: true } } });
  stream.leave();
});

it.each([
  ['present', 'modern://one', (uri: string) => modern.update(uri)],
  ['earlier', 'earlier://one', (uri: string) => earlier.update(uri)],
])(
  'a resource of an upstream of the %s revision is announced to its subscribers, and to no others',
  async (_which, uri, update) => {
    const [first, second, other] = [await listening(), await listening(), await listening()];
    for (const { session } of [first, second]) expect(await subscribe(session, uri)).toMatchObject({ result: {} });
    await update(uri);
    await update('modern://two');
    for (const { stream } of [first, second]) await waitFor(() => updatesOf(stream).length > 0);
    expect(await unsubscribe(first.session, uri)).toMatchObject({ result: {} });
    const before = updatesOf(first.stream).length;
    await waitFor(async () => {
      await update(uri);
      return updatesOf(second.stream).length > 2;
    });
    expect(updatesOf(first.stream)).toHaveLength(before);
    expect(new Set(updatesOf(second.stream).map((params) => params?.['uri']))).toEqual(new Set([uri]));
    expect(updatesOf(other.stream)).toEqual([]);
    for (const { session, stream } of [first, second, other]) {
      await session.end();
      stream.leave();
    }
  },
);

it('the upstream hears of the last subscriber that leaves, also by the end of its session', async () => {
  const [first, second] = [await listening(), await listening()];
  for (const { session } of [first, second]) await subscribe(session, 'earlier://one');
  expect(earlier.subscribed()).toEqual(['earlier://one']);
  await first.session.end();
  await second.session.end();
  await waitFor(() => earlier.subscribed().length === 0);
});

it('a subscription outlives the connection to its upstream, and the resource counts as changed', async () => {
  const { session, stream } = await listening();
  await subscribe(session, 'earlier://one');
  const before = updatesOf(stream).length;
  earlier.forget();
  await waitFor(async () => {
    await session.ask('resources/read', { uri: 'earlier://one' });
    return earlier.subscribed().length === 1 && updatesOf(stream).length > before;
  });
  await session.end();
});

describe('a subscription while the configuration changes', () => {
  const servers = () => ({ modern: { url: modern.url }, earlier: { url: earlier.url } });
  afterEach(async () => {
    await acceptOffered(real.database.pool, servers());
    await real.change({ mcpServers: servers() });
  });

  it.each([
    ['present', 'modern', 'modern://one', startModern],
    ['earlier', 'earlier', 'earlier://one', startEarlier],
  ])(
    'goes on at the new server, here of the %s revision, and no more at the old one',
    async (_which, name, uri, start) => {
      const { session, stream } = await listening();
      const next = await start();
      try {
        await subscribe(session, uri);
        await real.change({ mcpServers: { ...servers(), [name]: { url: next.url } } });
        await waitFor(() => updatesOf(stream).length > 0);
        // The new connection counts as a change as well, so the last notice has to be of the server itself.
        await waitFor(() => next.subscribed().includes(uri));
        const before = updatesOf(stream).length;
        await waitFor(async () => {
          await next.update(uri);
          return updatesOf(stream).length > before + 1;
        });
        await unsubscribe(session, uri);
        await waitFor(() => !next.subscribed().includes(uri));
      } finally {
        await session.end();
        stream.leave();
        await next.close();
      }
    },
  );

  it('counts as changed when its server is taken out, and goes on when the server is back', async () => {
    const { session, stream } = await listening();
    await subscribe(session, 'earlier://one');
    expect(updatesOf(stream)).toEqual([]);
    await real.change({ mcpServers: { modern: { url: modern.url } } });
    await waitFor(() => updatesOf(stream).length === 1);
    earlier.forget();
    expect((await session.ask('resources/read', { uri: 'earlier://one' })).error).toMatchObject({ code: -32_602 });
    expect((await subscribe(session, 'earlier://one')).error).toMatchObject({ code: -32_602 });
    await real.change({ mcpServers: servers() });
    await waitFor(() => updatesOf(stream).length === 2 && earlier.subscribed().length === 1);
    await session.end();
    await waitFor(() => earlier.subscribed().length === 0);
  });

  it('is open to a session that began before there was any server', async () => {
    await real.change({ mcpServers: {} });
    const session = await beginSession(real, { token: await real.authority.token({ aud: real.mcpUrl }) });
    // Only the gateway's own.
    expect(await session.ask('resources/list')).toMatchObject({
      result: { resources: [{ uri: 'ui://countersign/held-call' }] },
    });
    const stream = await session.listen();
    await waitFor(() => stream.text() !== '');
    await real.change({ mcpServers: servers() });
    await stream.next(({ method }) => method === 'notifications/resources/list_changed');
    await waitFor(async () => (await subscribe(session, 'earlier://one')).error === undefined);
    await session.end();
    await waitFor(() => earlier.subscribed().length === 0);
    stream.leave();
  });

  it('goes on at the server that has its address by now, once the client subscribes again', async () => {
    const { session, stream } = await listening();
    await subscribe(session, 'earlier://one');
    earlier.forget();
    const renamed = { renamed: { url: earlier.url } };
    await acceptOffered(real.database.pool, renamed);
    await real.change({ mcpServers: renamed });
    await waitFor(async () => (await subscribe(session, 'earlier://one')).error === undefined);
    const before = updatesOf(stream).length;
    await earlier.update('earlier://one');
    await waitFor(() => updatesOf(stream).length > before);
    await session.end();
    await waitFor(() => earlier.subscribed().length === 0);
  });
});

it('is refused for an address that no upstream has, that policy does not allow, or that its server refuses', async () => {
  const { session, stream } = await listening();
  expect((await subscribe(session, 'modern://none')).error).toMatchObject({ code: -32_602 });
  expect((await subscribe(session, 'earlier://refused')).error).toEqual({
    code: -32_602,
    message: 'Its server offers no subscription to this resource.',
  });
  real.authority.decide = () => ({ decision: false });
  expect((await subscribe(session, 'modern://one')).error).toMatchObject({ code: -31_001 });
  expect(await unsubscribe(session, 'modern://never')).toMatchObject({ result: {} });
  stream.leave();
});
