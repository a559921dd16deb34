import { Readable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { Response } from 'undici';
import { headersOf, MirroredTools, revisionIn } from '../../../apps/cli/stdio/headers.ts';
import { linesOf, messagesOf } from '../../../apps/cli/stdio/messages.ts';

const REVISION = '2026-07-28';
const META = { 'io.modelcontextprotocol/protocolVersion': REVISION };
const encoded = (text: string) => `=?base64?${Buffer.from(text).toString('base64')}?=`;

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

describe('the headers of a message', () => {
  const tools = new MirroredTools();
  const of = (method: string, params: object) =>
    headersOf({ jsonrpc: '2.0', id: 1, method, params: { ...params } }, REVISION, tools);

  it.each([
    ['tools/call', { name: 'files__read' }, 'files__read'],
    ['prompts/get', { name: 'Zürich' }, encoded('Zürich')],
    ['resources/read', { uri: 'file:///a b' }, 'file:///a b'],
    ['tasks/get', { taskId: 'x' }, 'x'],
    ['tasks/cancel', { taskId: '=?base64?eA==?=' }, encoded('=?base64?eA==?=')],
    ['tools/call', { name: ' a' }, encoded(' a')],
    ['tools/call', { name: 'a\nb' }, encoded('a\nb')],
    ['tools/call', { name: 7 }, undefined],
    ['tools/list', {}, undefined],
  ])('%s with %j repeats its name', (method, params, name) => {
    expect(of(method, params)).toEqual({
      'mcp-protocol-version': REVISION,
      'mcp-method': method,
      ...(name !== undefined && { 'mcp-name': name }),
    });
  });

  it('repeat the arguments that a list of tools declares for it', () => {
    const properties = {
      region: { type: 'string', 'x-mcp-header': 'Region' },
      limits: { type: 'object', properties: { rows: { type: 'integer', 'x-mcp-header': 'Rows' } } },
      text: { type: 'string' },
    };
    tools.learn([{ name: 'query', inputSchema: { type: 'object', properties } }, 'no tool'], true);
    tools.learn([{ name: 'plain' }], false);
    const args = { region: 'eu west', limits: { rows: -7 }, text: 'x' };
    expect(of('tools/call', { name: 'query', arguments: args })).toMatchObject({
      'Mcp-Param-Region': 'eu west',
      'Mcp-Param-Rows': '-7',
    });
    expect(of('tools/call', { name: 'plain', arguments: args })).not.toHaveProperty('Mcp-Param-Region');
    tools.learn([], true);
    expect(of('tools/call', { name: 'query', arguments: args })).not.toHaveProperty('Mcp-Param-Region');
  });

  it('are those of the session in earlier revisions, which name no revision in their messages', () => {
    expect(revisionIn({ method: 'tools/list', params: { _meta: { ...META } } })).toBe(REVISION);
    for (const params of [{}, { _meta: {} }, { _meta: { 'io.modelcontextprotocol/protocolVersion': 7 } }, [], null]) {
      expect(revisionIn({ method: 'tools/list', params })).toBeUndefined();
    }
  });
});

describe('lines', () => {
  it('end at line feeds alone, wherever the bytes are cut', async () => {
    const text = '{"a":"\u2028\u0085ü"}\r\n\n  \n{"b":1}\n{"c":2}';
    const bytes = Buffer.from(text);
    for (let size = 1; size < bytes.length; size += 1) {
      const parts = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
        bytes.subarray(at * size, (at + 1) * size),
      );
      const lines = await all(linesOf(Readable.from(parts)));
      expect(lines.map(String)).toEqual(['{"a":"\u2028\u0085ü"}\r', '{"b":1}', '{"c":2}']);
    }
  });
});

describe('messages of an answer', () => {
  const stream = (text: string) =>
    new Response(text, { headers: { 'content-type': 'text/event-stream; charset=utf-8' } });

  it('are the events of a stream that are JSON, with the place to take it up again', async () => {
    const place = { retryMs: 1, lastId: undefined };
    const answer = stream(
      'id: 1-0\nretry: 2000\ndata:\n\n: comment\n\nid: 1-1\ndata: {"n": 12345678901234567890}\n\ndata: nonsense\n\ndata: {"a":\ndata: 1}\n\n',
    );
    expect((await all(messagesOf(answer, place))).map(({ text }) => text)).toEqual([
      '{"n": 12345678901234567890}',
      '{"a": 1}',
    ]);
    expect(place).toEqual({ retryMs: 2_000, lastId: '1-1' });
  });

  it('are the whole body of any other answer, if it is JSON', async () => {
    const place = { retryMs: 1 };
    expect(await all(messagesOf(new Response('{"a":\r\n1}'), place))).toEqual([{ text: '{"a": 1}', value: { a: 1 } }]);
    for (const body of ['', '<html>', '"text"', '7', 'null', '{"a":1']) {
      expect(await all(messagesOf(new Response(body), place))).toEqual([]);
    }
  });
});
