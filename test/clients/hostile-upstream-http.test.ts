import type { ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import type { UpstreamPool } from '../../activities/clients/upstream/pool.ts';
import type { HttpServer } from '../../apps/shared/http/listen.ts';
import { serve } from '../support/serve.ts';
import { openUpstreams } from '../support/upstreams.ts';
import { waitFor } from '../support/wait-for.ts';

const MAX = 100_000;

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly protocolVersion?: string };
}

let server: HttpServer;
let pool: UpstreamPool;
let logged: string[];
let cancelled: number;
/** The ids of the server's requests that we answered. */
let answered: unknown[];
/** Whether the server accepts answers. */
let isTaking: boolean;
/** Answers `tools/call`. */
let onCall: (response: ServerResponse, id: number | undefined) => void;
/** Calls to `tools/call` whose connection has closed. */
let closed = 0;

const json = (response: ServerResponse, body: unknown) =>
  void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
const stream = (response: ServerResponse) => response.writeHead(200, { 'content-type': 'text/event-stream' });
const answer = (id: number | undefined, said: string) => ({
  jsonrpc: '2.0',
  id,
  result: { content: [{ type: 'text', text: said }] },
});
const event = (message: object) => `event: message\ndata: ${JSON.stringify(message)}\n\n`;
const notice = event({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'x' } });

function onMessage(response: ServerResponse, { id, method, params }: Message): void {
  const ok = (result: unknown) => json(response, { jsonrpc: '2.0', id, result });
  if (method === 'initialize') {
    const serverInfo = { name: 'stub', version: '1' };
    return ok({ protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo });
  }
  if (method === 'tools/list') return ok({ tools: [{ name: 'act', inputSchema: { type: 'object' } }] });
  if (method === 'ping') return ok({});
  if (method === 'tools/call') {
    response.once('close', () => (closed += 1));
    return onCall(response, id);
  }
  if (method === undefined) {
    answered.push(id);
    if (isTaking) response.writeHead(202).end();
    return;
  }
  if (method === 'notifications/cancelled') cancelled += 1;
  if (id === undefined) return void response.writeHead(202).end();
  return json(response, { jsonrpc: '2.0', id, error: { code: -32_601, message: 'unknown' } });
}

beforeAll(async () => {
  server = await serve((request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end();
    void text(request).then((body) => onMessage(response, JSON.parse(body) as Message));
  });
});
afterAll(() => server.close());
beforeEach(() => {
  logged = [];
  closed = 0;
  cancelled = 0;
  answered = [];
  isTaking = true;
});
afterEach(() => pool.close());

const act = (limits: object = { maxMessageBytes: MAX }, signal = new AbortController().signal) => {
  const log = pino({ level: 'warn' }, { write: (line: string) => void logged.push(line) });
  pool = openUpstreams({ web: { url: `${server.url}/mcp`, limits } }, log);
  return again(signal);
};
const again = (signal = new AbortController().signal) =>
  pool.call({ upstream: 'web', upstreamTool: 'act', arguments: {} }, { signal });
const result = (said: string) => ({ kind: 'result', result: { content: [{ type: 'text', text: said }] } });

/** An excessive JSON answer to a call, and the expected reason. */
const EXCESSES: Readonly<Record<string, { readonly text: (id: number | undefined) => string; readonly why: RegExp }>> =
  {
    'too large': {
      text: (id) => JSON.stringify(answer(id, 'x'.repeat(2 * MAX))),
      why: /larger than 100000 bytes \(limits\.maxMessageBytes\)/,
    },
    'too deep': {
      text: (id) =>
        `{"jsonrpc":"2.0","id":${id},"result":{"content":[],"x":${'['.repeat(10_000)}${']'.repeat(10_000)}}}`,
      why: /more than 200 levels deep/,
    },
    'too many members': {
      text: (id) => `{"jsonrpc":"2.0","id":${id},"result":{"content":[],"x":[${'1,'.repeat(2_000)}1]}}`,
      why: /more than 1000 members and elements \(limits\.maxMessageMembers\)/,
    },
  };
const ofText = (data: string) => `event: message\nid: 7\ndata: ${data}\n\n`;
/** How the answer arrives. */
const WAYS: Readonly<Record<string, (response: ServerResponse, text: string) => void>> = {
  'in one body': (response, data) => void response.writeHead(200, { 'content-type': 'application/json' }).end(data),
  'in one event': (response, data) => void stream(response).end(ofText(data)),
  'in an event after another': (response, data) => void stream(response).end(notice + ofText(data)),
  'in an event of many lines': (response, data) =>
    void stream(response).end(notice + ofText(data.replaceAll(',', ',\ndata: '))),
};
const LIMITS = { maxMessageBytes: MAX, maxMessageMembers: 1_000 };

describe('a server whose answer is too large', () => {
  const large = 'x'.repeat(2 * MAX);
  const cases = Object.keys(EXCESSES).flatMap((excess) => Object.keys(WAYS).map((way) => [excess, way] as const));
  it.each(cases)('%s %s fails only this call, with the reason', async (excess, way) => {
    const { text: textFor = () => '', why = /x/ } = EXCESSES[excess] ?? {};
    let release: (() => void) | undefined;
    onCall = (response, id) => void (release = () => json(response, answer(id, 'beside')));
    const beside = act(LIMITS);
    const held = await waitFor(() => release);
    onCall = (response, id) => WAYS[way]?.(response, textFor(id));
    const failed = await again();
    expect(failed).toMatchObject({ kind: 'error', isOurs: true, message: expect.stringMatching(why) });
    expect(failed).toMatchObject({ message: expect.stringContaining('The tool may have run') });
    expect(logged.join()).toMatch(why);
    held();
    expect(await beside).toMatchObject(result('beside'));
  });

  it.each<[string, typeof onCall]>([
    [
      'in an event',
      (response) => {
        stream(response).write(`${notice}data: `);
        const more = setInterval(() => response.write(large), 1);
        response.once('close', () => clearInterval(more));
      },
    ],
    [
      'in a body',
      (response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        const more = setInterval(() => response.write(large), 1);
        response.once('close', () => clearInterval(more));
      },
    ],
  ])('%s without an end fails the call and its connection, and can be called again', async (_, tooMuch) => {
    onCall = tooMuch;
    expect(await act()).toMatchObject({ kind: 'error', message: expect.stringContaining('larger than') });
    expect(logged.join()).toContain('limits.maxMessageBytes');
    await waitFor(() => closed === 1);
    onCall = (response, id) => json(response, answer(id, 'fine'));
    expect(await again()).toMatchObject(result('fine'));
  });

  it('in many events is accepted, because each event is small', async () => {
    onCall = (response, id) => {
      stream(response);
      for (let sent = 0; sent < MAX; sent += notice.length) response.write(notice);
      response.end(event(answer(id, 'after all')));
    };
    expect(await act({ maxMessageBytes: MAX, maxMessagesPerSecond: 100_000 })).toMatchObject(result('after all'));
  });
});

describe('a server that floods its answer stream', () => {
  it('is slowed down, and the answer still arrives', async () => {
    onCall = (response, id) => void stream(response).end(notice.repeat(30) + event(answer(id, 'at last')));
    expect(await act({ maxMessagesPerSecond: 60 })).toMatchObject(result('at last'));
    expect(logged.join()).toContain('more messages than limits.maxMessagesPerSecond');
  });
});

describe('a server that sends requests', () => {
  // The last messages may arrive in the next test.
  const asking = (kind: string, count: number) => {
    const pings = Array.from({ length: count }, (_, n) =>
      event({ jsonrpc: '2.0', id: `${kind}-${n}`, method: 'ping' }),
    );
    onCall = (response, id) => void stream(response).end(pings.join('') + event(answer(id, 'fine')));
  };

  it('holds only a few connections when it accepts no answers', async () => {
    isTaking = false;
    asking('ignored', 100);
    expect(await act({})).toMatchObject(result('fine'));
    await waitFor(() => answered.length > 0);
    expect(await again()).toMatchObject(result('fine'));
    // A connection that became reusable too late may have been replaced once.
    expect(answered.length).toBeLessThanOrEqual(32);
  });

  it('gets an answer to each request', async () => {
    asking('taken', 10);
    expect(await act({})).toMatchObject(result('fine'));
    for (let calls = 1; calls <= 5; calls += 1) {
      await waitFor(() => answered.filter((id) => String(id).startsWith('taken')).length === 10 * calls);
      expect(await again()).toMatchObject(result('fine'));
    }
  });
});

describe('the connection of a call', () => {
  it.each<[string, typeof onCall]>([
    ['is never answered', () => undefined],
    ['is answered without end', (response) => void stream(response).write(notice)],
    [
      'is answered partially',
      (response) => void response.writeHead(200, { 'content-type': 'application/json' }).write('{'),
    ],
  ])('that %s is closed when the client cancels the call, and the server is told', async (_, never) => {
    const leave = new AbortController();
    onCall = (response, id) => {
      never(response, id);
      setImmediate(() => leave.abort());
    };
    expect(await act({}, leave.signal)).toMatchObject({ kind: 'no_answer' });
    await waitFor(() => closed === 1 && cancelled === 1);
  });

  it('that stays open after the answer is closed', async () => {
    onCall = (response, id) => void stream(response).write(event(answer(id, 'fine')));
    expect(await act()).toMatchObject(result('fine'));
    await waitFor(() => closed === 1);
  });
});

describe('a server that answers incorrectly', () => {
  it.each<[string, typeof onCall]>([
    [
      'with text that is not JSON',
      (response) => void response.writeHead(200, { 'content-type': 'application/json' }).end('{'),
    ],
    ['with JSON that is not a message', (response) => json(response, { hello: 'world' })],
    ['with a page', (response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>')],
    ['with the answer to another request', (response) => json(response, answer(4_711, 'not for you'))],
    ['with invalid events', (response) => void stream(response).end('data: {\n\ndata: []\n\nevent: x\ndata: y\n\n')],
  ])('%s leaves its call without a result', async (_, nonsense) => {
    onCall = nonsense;
    expect(await act({}, AbortSignal.timeout(1_000))).not.toMatchObject({ kind: 'result' });
    onCall = (response, id) => json(response, answer(id, 'fine'));
    expect(await again()).toMatchObject(result('fine'));
  });
});
