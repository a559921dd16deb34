import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ManualClock } from '../../support/manual-clock.ts';
import { SessionServer } from '../../support/session-server.ts';
import { StdioHost } from '../../support/stdio-host.ts';
import { waitFor } from '../../support/wait-for.ts';
import { OWN_COMMAND } from '../../../apps/cli/own-command.ts';

const REVISION = '2025-11-25';
const PARAMS = { protocolVersion: REVISION, clientInfo: { name: 'a-host', version: '0' } };
const CHANGED = 'notifications/tools/list_changed';
const CALLED = { name: 'echo', arguments: { said: 'hello' } };

let server: SessionServer;
let host: StdioHost;
beforeEach(async () => {
  server = await new SessionServer().start();
  host = new StdioHost(server.url);
});
afterEach(async () => {
  await host.stop();
  await server.stop();
});

/** What a host of an earlier revision does first. */
async function initialize(capabilities: object = {}): Promise<Record<string, unknown>> {
  const answer = await host.ask('first', 'initialize', { ...PARAMS, capabilities });
  host.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
  await waitFor(() => server.of('notifications/initialized').length > 0);
  return answer;
}
const streams = () => server.came.filter(({ method }) => method === 'GET');
const textIn = (answer: unknown) => (answer as { result: { content: { text: string }[] } }).result.content[0]?.text;

describe('a relayed session', () => {
  it('has the headers of the session, which the host never sees, and ends with the host', async () => {
    const answer = await initialize();
    expect(answer).toMatchObject({ result: { protocolVersion: REVISION, serverInfo: { name: 'sessions' } } });
    expect(textIn(await host.ask(1, 'tools/call', CALLED))).toBe('hello');
    const [id] = server.sessions;
    const [first, ...later] = server.came;
    expect(first?.headers).not.toHaveProperty('mcp-session-id');
    for (const { headers } of later) {
      expect(headers).toMatchObject({ 'mcp-session-id': id, 'mcp-protocol-version': REVISION });
      expect(headers.authorization).toBe('Bearer a-token');
    }
    await host.close();
    expect(server.came.at(-1)).toMatchObject({ method: 'DELETE', headers: { 'mcp-session-id': id } });
    expect(host.logged).toEqual([]);
  });

  it('sends nothing before the message that it rests on is accepted', async () => {
    const params = { ...PARAMS, capabilities: {} };
    host.send(
      { jsonrpc: '2.0', id: 0, method: 'initialize', params },
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', id: 1, method: 'tools/call', params: CALLED },
    );
    expect(textIn(await host.answer(1))).toBe('hello');
    const posts = server.came.filter(({ method }) => method === 'POST').map(({ body }) => body);
    expect(posts.map((body) => (JSON.parse(body) as { method: string }).method)).toEqual([
      'initialize',
      'notifications/initialized',
      'tools/call',
    ]);
  });

  it('passes a question of the server to the host, and its answer back', async () => {
    await initialize({ elicitation: {} });
    await waitFor(() => streams().length > 0);
    host.send({ jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'ask', arguments: {} } });
    const question = await host.told('elicitation/create');
    expect(question).toMatchObject({ params: { message: 'Who?' } });
    host.send({ jsonrpc: '2.0', id: question['id'], result: { action: 'accept', content: { name: 'Ada' } } });
    expect(textIn(await host.answer(7))).toBe('{"action":"accept","content":{"name":"Ada"}}');
  });

  it('gets what the server says on its own, also after the connection broke', async () => {
    await initialize();
    await waitFor(() => streams().length === 1);
    server.session.server.sendToolListChanged();
    await host.told(CHANGED);
    server.cut();
    // The server keeps it for the next connection.
    await waitFor(() => streams().length >= 2);
    server.session.server.sendToolListChanged();
    await waitFor(() => host.messages.filter(({ method }) => method === CHANGED).length === 2);
    expect(streams().at(-1)?.headers['last-event-id']).toEqual(expect.any(String));
  });

  it('is opened anew when the server has forgotten it, and the host does not notice', async () => {
    await initialize();
    const [before] = server.sessions;
    server.forget();
    const answers = await Promise.all([1, 2, 3].map((id) => host.ask(id, 'tools/call', CALLED)));
    expect(answers.map(textIn)).toEqual(['hello', 'hello', 'hello']);
    expect(server.sessions).toHaveLength(1);
    expect(server.sessions).not.toContain(before);
    const openings = server.of('initialize').map(({ body }) => body);
    expect(openings).toHaveLength(2);
    expect(openings[1]).toBe(openings[0]);
    expect(host.messages.filter(({ id }) => id === 'first')).toHaveLength(1);
    const [id] = server.sessions;
    await waitFor(() => streams().some(({ headers }) => headers['mcp-session-id'] === id));
  });

  it('waits for a host that reads slowly, and leaves no listener behind: Node.js warns of more than ten', async () => {
    const warnings: Error[] = [];
    const note = (warning: Error) => void warnings.push(warning);
    process.on('warning', note);
    await initialize();
    const long = { name: 'echo', arguments: { said: 'long '.repeat(20_000) } };
    for (let id = 1; id <= 12; id += 1) {
      expect(textIn(await host.ask(id, 'tools/call', long))).toBe(long.arguments.said);
    }
    process.off('warning', note);
    expect(warnings).toEqual([]);
  });

  it('takes up the stream of an answer that broke', async () => {
    await initialize();
    host.send({ jsonrpc: '2.0', id: 9, method: 'tools/call', params: { name: 'slow', arguments: {} } });
    await host.told('notifications/progress');
    await waitFor(() => streams().length > 0);
    const before = streams().length;
    server.cut();
    await waitFor(() => streams().length >= before + 2);
    server.release();
    expect(textIn(await host.answer(9))).toBe('done');
    expect(server.of('tools/call')).toHaveLength(1);
  });

  it('says that a call may have run, when nothing of its answer came', async () => {
    await initialize();
    server.before = ({ body }, response) => {
      if (!body.includes('"tools/')) return false;
      response.destroy();
      return true;
    };
    const { error: ofCall } = await host.ask(1, 'tools/call', CALLED);
    const { error: ofList } = await host.ask(2, 'tools/list');
    expect(ofCall).toMatchObject({
      message: expect.stringMatching(/may have run\. Next step: call get_request_status/),
    });
    expect(ofList).toMatchObject({ message: expect.stringMatching(/Repeat the request/) });
    expect(server.of('tools/call')).toHaveLength(1);
  });
});

describe('a relayed message', () => {
  it('arrives byte for byte', async () => {
    await initialize();
    const lines = [
      '{"jsonrpc": "2.0",\t"id":1, "method":"tools/call","params":{"name":"echo","arguments":{"said":"x","n":12345678901234567890}}}',
      '{"method":"tools/call","params":{"arguments":{"said":"\\u00e4\\/ä"},"name":"echo"},"id":2,"jsonrpc":"2.0"}',
      '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{"said":"a\u2028b\u2029c"}}}',
      '{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"echo","arguments":{"said":"1.0e3 1.10"},"x":1.10}}',
    ];
    host.send(...lines);
    for (const id of [1, 2, 3, 4]) await host.answer(id);
    const bodies = server.of('tools/call').concat(server.came.filter(({ body }) => body.includes('"jsonrpc": "2.0"')));
    for (const line of lines) expect(bodies.map(({ body }) => body)).toContain(line);
    expect(textIn(await host.answer(3))).toBe('a\u2028b\u2029c');
  });

  it('comes back with the text of the server, in one line', async () => {
    const text = '{"jsonrpc":"2.0",\r\n "id":1,\n\t"result":{"n":9007199254740993,"s":"\\u2028 1.0"}}';
    server.before = (_came, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(text);
      return true;
    };
    await host.ask(1, 'tools/list');
    expect(host.lines).toEqual([text.replaceAll(/[\r\n]+/g, ' ')]);
  });

  it('arrives in parts, of any size', async () => {
    server.before = ({ body }, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(`{"jsonrpc":"2.0","id":1,"result":{"size":${body.length}}}`);
      return true;
    };
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { text: 'ü'.repeat(2_000_000) } };
    const line = Buffer.from(`${JSON.stringify(message)}\n`);
    for (let at = 0; at < line.length; at += 100_001) host.write(line.subarray(at, at + 100_001));
    expect(await host.answer(1)).toMatchObject({ result: { size: JSON.stringify(message).length } });
  });

  it('that is no JSON is left out, and the others pass', async () => {
    await initialize();
    host.send('Hello!', '', '   ', '42', '{"jsonrpc":"2.0","id":1');
    expect(textIn(await host.ask(5, 'tools/call', CALLED))).toBe('hello');
    expect(host.logged).toHaveLength(3);
    expect(server.came.every(({ body }) => body === '' || body.includes('jsonrpc'))).toBe(true);
  });
});

describe('an answer that is no message', () => {
  const answers: [string, [number, Record<string, string>, string], RegExp][] = [
    ['a page', [200, { 'content-type': 'text/html' }, '<html>Sign in</html>'], /broke before the answer/],
    ['a redirect', [302, { location: 'https://elsewhere.example/mcp' }, ''], /another address \(302\).*--url/],
    ['an unknown address', [404, {}, ''], /no MCP endpoint at .*--url/],
    ['an overload', [503, { 'retry-after': '5' }, ''], /no time now \(503\).*in 5 seconds/],
    ['a failure', [500, { 'content-type': 'text/html' }, '<h1>Oh</h1>'], /refused the request \(500\)/],
  ];
  it.each(answers)('becomes an error for the request: %s', async (_case, [status, headers, body], words) => {
    server.before = (_came, response) => {
      response.writeHead(status, headers).end(body);
      return true;
    };
    const { error } = await host.ask('a', 'tools/list');
    expect(error).toMatchObject({ code: -32_603, message: expect.stringMatching(words) });
    expect(host.lines).toHaveLength(1);
  });

  it('or has no id, gets the id of the request and keeps its error', async () => {
    server.before = (_came, response) => {
      response.writeHead(503, { 'content-type': 'application/json' });
      response.end('{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"later","data":{"a":1}}}');
      return true;
    };
    expect(await host.ask('a', 'tools/list')).toEqual({
      jsonrpc: '2.0',
      id: 'a',
      error: { code: -32_603, message: 'later', data: { a: 1 } },
    });
  });

  it('never receives the token of another address', async () => {
    const other = await new SessionServer().start();
    server.before = (_came, response) => {
      response.writeHead(307, { location: other.url }).end();
      return true;
    };
    await host.ask(1, 'tools/list');
    expect(other.came).toEqual([]);
    await other.stop();
  });
});

it('waits for a gateway that is away, and says how to start it', async () => {
  const away = await new SessionServer().start();
  const { url } = away;
  await away.stop();
  const clock = new ManualClock();
  const waiting = new StdioHost(url, { clock });
  waiting.send({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
  await waitFor(async () => {
    await clock.advance(100_000);
    return waiting.lines.length > 0;
  });
  expect(waiting.messages[0]).toMatchObject({
    error: { message: `Countersign does not answer at ${url}. Start it with: ${OWN_COMMAND} up` },
  });
  await waiting.stop();
});

it('reaches a gateway that comes back while the message waits', async () => {
  const away = await new SessionServer().start();
  const { url } = away;
  await away.stop();
  const waiting = new StdioHost(url);
  waiting.send({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { ...PARAMS, capabilities: {} } });
  const back = await new SessionServer().start(Number(new URL(url).port));
  expect(await waiting.answer(1)).toMatchObject({ result: { serverInfo: { name: 'sessions' } } });
  await waiting.stop();
  await back.stop();
});
