import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { UpstreamPool } from '../../activities/clients/upstream/pool.ts';
import type { HttpServer } from '../../apps/shared/http/listen.ts';
import { serve } from '../support/serve.ts';
import { openUpstreams } from '../support/upstreams.ts';
import { waitFor } from '../support/wait-for.ts';

const never = () => new AbortController().signal;

interface Message {
  id?: number;
  method: string;
  params?: { protocolVersion?: string };
}
type Answer = (message: Message, response: ServerResponse, request: IncomingMessage) => void | Promise<void>;

let server: HttpServer;
let url: string;
let onCall: Answer;
/** The tools are listed when it resolves. */
let onList: () => Promise<void>;
let calls = 0;
let elsewhere = 0;
let credentials: (string | undefined)[] = [];
let pool: UpstreamPool | undefined;

const reply = (response: ServerResponse, body: unknown) =>
  void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));

/** An MCP server of an earlier revision whose answers to `tools/call` a test decides. */
const answer: Answer = (message, response, request) => {
  const { id, method } = message;
  const ok = (result: unknown) => reply(response, { jsonrpc: '2.0', id, result });
  credentials.push(request.headers.authorization);
  if (method === 'initialize') {
    const serverInfo = { name: 'stub', version: '1' };
    ok({ protocolVersion: message.params?.protocolVersion, capabilities: { tools: {} }, serverInfo });
  } else if (method === 'tools/list') {
    void onList().then(() => ok({ tools: [{ name: 'act', inputSchema: { type: 'object' } }] }));
  } else if (method === 'ping') {
    ok({});
  } else if (method === 'tools/call') {
    calls += 1;
    void onCall(message, response, request);
  } else if (id === undefined) {
    response.writeHead(202).end();
  } else {
    reply(response, { jsonrpc: '2.0', id, error: { code: -32_601, message: 'unknown' } });
  }
};

beforeAll(async () => {
  server = await serve((request, response) => {
    if (request.url !== '/mcp') elsewhere += 1;
    if (request.method !== 'POST') return void response.writeHead(405).end();
    void text(request).then((body) => answer(JSON.parse(body) as Message, response, request));
  });
  url = `${server.url}/mcp`;
});
afterAll(() => server.close());
beforeEach(() => {
  onList = async () => undefined;
  calls = 0;
  elsewhere = 0;
  credentials = [];
});
afterEach(async () => {
  await pool?.close();
  pool = undefined;
});

const act = async (signal = never()) => {
  pool = openUpstreams({ web: { url, headers: { authorization: 'Bearer upstream-token' } } });
  return pool.call({ upstream: 'web', upstreamTool: 'act', arguments: {} }, { signal });
};

/** The same call, cancelled a while after it has arrived: on a slow machine connecting may take as long. */
const actBriefly = () => {
  const leave = new AbortController();
  const answerCall = onCall;
  onCall = async (...call) => {
    await answerCall(...call);
    setTimeout(() => leave.abort(), 500);
  };
  return act(leave.signal);
};

/** Holds the list of tools back. Resolves at the request for it, with a function that releases it. */
const heldList = () =>
  new Promise<() => void>((asked) => {
    onList = () => new Promise((release) => asked(() => release()));
  });

describe('a tool of an upstream that has answered, but not listed its tools yet', () => {
  it('waits for the list', async () => {
    const asked = heldList();
    pool = openUpstreams({ web: { url } });
    const listed = pool.tools();
    const list = await asked;
    const found = pool.find('web__act');
    // Lets a lookup that does not wait end first.
    setImmediate(list);
    expect(await found).toMatchObject({ name: 'web__act' });
    expect(await listed).toHaveLength(1);
  });
});

describe('a call over HTTP', () => {
  it('carries the configured credential in every request, and is sent once [AUTHZ-004]', async () => {
    onCall = ({ id }, response) => reply(response, { jsonrpc: '2.0', id, result: { content: [] } });
    expect(await act()).toEqual({ kind: 'result', isError: false, result: { content: [] } });
    expect([calls, new Set(credentials)]).toEqual([1, new Set(['Bearer upstream-token'])]);
  });

  it('is not sent after its deadline', async () => {
    const asked = heldList();
    pool = openUpstreams({ web: { url } });
    const sendBy = performance.now() + 50;
    const call = { upstream: 'web', upstreamTool: 'act', arguments: {} };
    const outcome = pool.call(call, { signal: never(), sendBy });
    const list = await asked;
    await waitFor(() => performance.now() > sendBy);
    list();
    expect(await outcome).toEqual({ kind: 'not_sent', cause: 'too late' });
    expect(calls).toBe(0);
  });

  it('carries its idempotency key in a header, and other requests do not', async () => {
    const keys: unknown[] = [];
    onCall = ({ id }, response, request) => {
      keys.push(request.headers['idempotency-key']);
      reply(response, { jsonrpc: '2.0', id, result: { content: [] } });
    };
    await act();
    const call = { upstream: 'web', upstreamTool: 'act', arguments: {} };
    const withKey = (idempotencyKey: string) => pool?.call({ ...call, idempotencyKey }, { signal: never() });
    await Promise.all([withKey('one'), withKey('two')]);
    await pool?.call(call, { signal: never() });
    // Of two simultaneous requests, either may arrive first.
    expect([keys[0], keys.slice(1, 3).sort(), ...keys.slice(3)]).toEqual([undefined, ['one', 'two'], undefined]);
  });

  it('does not follow a redirect', async () => {
    onCall = (_, response) => void response.writeHead(307, { location: '/elsewhere' }).end();
    expect(await act()).toMatchObject({ kind: 'no_answer' });
    expect([calls, elsewhere]).toEqual([1, 0]);
  });

  it.each([
    [500, 'no_answer'],
    [503, 'no_answer'],
    [403, 'error'],
    [404, 'error'],
  ])('that is answered with status %i ends as %s, and is not repeated', async (status, kind) => {
    onCall = (_message, response) => void response.writeHead(status).end();
    expect(await act()).toMatchObject({ kind });
    expect(calls).toBe(1);
  });

  it.each([
    ['something that is not a result', 'error', { content: 'text' }],
    ['a flag of another type', 'error', { content: [], isError: 'yes' }],
    ['nothing', 'no_answer', null],
  ])('that is answered with %s ends as %s', async (_case, kind, result) => {
    onCall = ({ id }, response) => reply(response, { jsonrpc: '2.0', id, result });
    const answer = await (kind === 'no_answer' ? actBriefly() : act());
    expect(answer).toMatchObject({ kind });
    if (kind === 'error')
      expect(answer).toMatchObject({ message: expect.stringMatching(/may have run.*check before/) });
    expect(calls).toBe(1);
  });

  it('whose connection breaks before an answer ends as no_answer', async () => {
    onCall = (_message, _response, request) => void request.socket.destroy();
    expect(await act()).toMatchObject({ kind: 'no_answer' });
    expect(calls).toBe(1);
  });

  it('that the caller cancels after it was sent ends as no_answer', async () => {
    const leave = new AbortController();
    onCall = () => leave.abort();
    expect(await act(leave.signal)).toMatchObject({ kind: 'no_answer' });
    expect(calls).toBe(1);
  });
});

describe('a call that is answered with a stream of events', () => {
  const done = (id: number | undefined) =>
    `event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'äö' }] } })}\n\n`;
  const notice = `data: ${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'x' } })}\n\n`;
  const RESULT = { kind: 'result', isError: false, result: { content: [{ type: 'text', text: 'äö' }] } };
  const stream = (response: ServerResponse) => response.writeHead(200, { 'content-type': 'text/event-stream' });

  it.each([
    ['is the first event', (id: number | undefined) => [done(id)]],
    ['comes after an event with only an id', (id) => ['id: 1\ndata: \n\n', done(id)]],
    ['comes after a notification', (id) => [notice, done(id)]],
    ['is followed by something else', (id) => [done(id), notice]],
    ['arrives byte by byte', (id) => [...Buffer.from(done(id))].map((byte) => Buffer.of(byte))],
  ] satisfies [string, (id: number | undefined) => (string | Buffer)[]][])(
    'has the result that %s',
    async (_, pieces) => {
      onCall = async ({ id }, response) => {
        stream(response);
        for (const piece of pieces(id)) await new Promise<void>((sent) => response.write(piece, () => sent()));
        response.end();
      };
      expect(await act()).toEqual(RESULT);
      expect(await pool?.call({ upstream: 'web', upstreamTool: 'act', arguments: {} }, { signal: never() })).toEqual(
        RESULT,
      );
      expect(calls).toBe(2);
    },
  );

  it.each([
    ['before the first event', []],
    ['after an event that is not the answer', [notice]],
    ['within an event', ['data: {"jsonrpc"']],
  ])('ends as no_answer when the connection breaks %s', async (_, pieces) => {
    onCall = (_message, response) => {
      stream(response).flushHeaders();
      for (const piece of pieces) response.write(piece);
      setImmediate(() => response.destroy());
    };
    expect(await actBriefly()).toMatchObject({ kind: 'no_answer' });
    expect(calls).toBe(1);
  });

  it('is complete when the connection breaks after the answer', async () => {
    onCall = ({ id }, response) => {
      stream(response).write(done(id), () => response.destroy());
    };
    expect(await act()).toEqual(RESULT);
    expect(calls).toBe(1);
  });
});
