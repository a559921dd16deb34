import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { pino } from 'pino';
import type { UpstreamPool } from '../../activities/clients/upstream/pool.ts';
import { startListingUpstream } from '../support/listing-upstream.ts';
import { openUpstreams } from '../support/upstreams.ts';

let upstream: Awaited<ReturnType<typeof startListingUpstream>>;
let pool: UpstreamPool;
let logged: Record<string, unknown>[];
beforeEach(async () => {
  logged = [];
  upstream = await startListingUpstream({});
});
afterEach(async () => {
  await pool.close();
  await upstream.close();
});

const tool = (name: string, more: object = {}) => ({ name, inputSchema: { type: 'object' }, ...more });
const open = (key = 'u') => {
  const write = (line: string) => void logged.push(JSON.parse(line) as Record<string, unknown>);
  return (pool = openUpstreams({ [key]: { url: upstream.url } }, pino({ level: 'warn' }, { write })));
};
const namesNow = async () => {
  await pool.find('u__', { live: true });
  return (await pool.tools()).map(({ upstreamName }) => upstreamName);
};
const reasons = () => Object.fromEntries(pool.refused().map(({ name, reason }) => [name, reason]));

it('a tool that cannot be used is named once with its server and the reason, and the others are offered', async () => {
  const broken = { inputSchema: { type: 'object', properties: { a: { $ref: 'https://elsewhere.example/a' } } } };
  upstream.lists = {
    tools: [
      tool('good'),
      { name: 'none' },
      tool('ref', broken),
      tool('promise', { outputSchema: broken.inputSchema }),
      tool(''),
    ],
  };
  open();
  expect(await namesNow()).toEqual(['good']);
  expect(reasons()).toEqual({
    u__none: expect.stringMatching(/^its member inputSchema cannot be used: /),
    u__ref: expect.stringMatching(/^its input schema cannot be used: can't resolve reference https:\/\/elsewhere/),
    u__promise: expect.stringMatching(/^its output schema cannot be used: can't resolve reference/),
    'u__#5': 'it has no name',
  });
  upstream.lists = { tools: [...(upstream.lists['tools'] ?? []), tool('another')] };
  expect(await namesNow()).toEqual(['good', 'another']);
  const told = logged.filter(({ msg }) => msg === 'a tool is not offered');
  expect(told.map(({ upstream: of, tool: name }) => [of, name])).toEqual(
    Object.keys(reasons()).map((name) => ['u', name]),
  );
});

it('the description of a tool is repaired before its digest is made', async () => {
  upstream.lists = {
    tools: [
      tool('a', {
        inputSchema: { type: 'object', properties: [], required: null },
        outputSchema: null,
        annotations: [],
        title: null,
      }),
      tool('b', {
        inputSchema: { type: 'object', properties: { c: { type: 'object', properties: [], default: null } } },
      }),
    ],
  };
  open();
  await namesNow();
  const repaired = (await pool.tools()).map(({ definition }) => definition);
  expect(repaired).toEqual([
    { name: 'a', inputSchema: { type: 'object', properties: {} }, annotations: {} },
    {
      name: 'b',
      inputSchema: { type: 'object', properties: { c: { type: 'object', properties: {}, default: null } } },
    },
  ]);
  const [{ digest } = { digest: '' }] = await pool.tools();
  upstream.lists = { tools: [tool('a', { inputSchema: { type: 'object', properties: {} }, annotations: {} })] };
  await namesNow();
  expect((await pool.tools())[0]?.digest).toBe(digest);
});

it('a name that one server lists twice counts once where both are the same, and is otherwise reported once, by its name', async () => {
  upstream.lists = {
    tools: [tool('same'), tool('other', { description: 'a' }), tool('same'), tool('other'), tool('other')],
  };
  open();
  expect(await namesNow()).toEqual(['same']);
  expect(pool.refused()).toEqual([
    { upstream: 'u', name: 'u__other', reason: expect.stringMatching(/its server lists this name twice/) },
  ]);
  expect(logged).toHaveLength(1);
});

it.each([
  ['repeats', ['a', 'again', 'again'], ['t0', 't1', 't2'], /the cursor of tools\/list repeats/],
  ['leads back to the beginning', ['a', 'b', 'a'], ['t0', 't1', 't2'], /the cursor of tools\/list repeats/],
  ['is null', [null], ['t0'], undefined],
  ['is a number', ['a', 2, 'c'], ['t0', 't1'], /the next cursor of tools\/list is no text/],
  ['is the empty text for ever', ['', ''], ['t0', 't1'], undefined],
])('a list whose cursor %s ends there, and its tools are offered', async (_what, cursors, names, warning) => {
  upstream.pages = () => cursors.map((nextCursor, n) => ({ entries: [tool(`t${n}`), tool('t0')], nextCursor }));
  open();
  expect(await namesNow()).toEqual(names);
  expect(upstream.asked.length).toBeLessThan(10);
  await namesNow();
  const warned = logged.map(({ msg }) => String(msg));
  expect(warned).toEqual(warning === undefined ? [] : [expect.stringMatching(warning)]);
});

it('names that most interfaces of models do not take are named once, with a prefix that makes them fit', async () => {
  upstream.lists = {
    tools: [tool('a'.repeat(50)), tool('si ze'), tool('repos/get'), tool('b'.repeat(70)), tool('short')],
  };
  const key = 'a-server-with-a-long-name';
  open(key);
  await pool.find(`${key}__`, { live: true });
  expect(await pool.tools()).toHaveLength(5);
  const of = (names: readonly string[]) => ({
    upstream: key,
    count: names.length,
    tools: names.map((name) => `${key}__${name}`),
  });
  expect(logged).toEqual([
    expect.objectContaining({
      ...of(['si ze', 'repos/get']),
      msg: expect.stringMatching(/which only the server can change/),
    }),
    expect.objectContaining({
      ...of(['a'.repeat(50), 'b'.repeat(70)]),
      msg: expect.stringMatching(/only the server can shorten/),
    }),
  ]);
  logged.length = 0;
  upstream.lists = { tools: [tool('a'.repeat(50)), tool('c'.repeat(52))] };
  await pool.find(`${key}__`, { live: true });
  await pool.find(`${key}__`, { live: true });
  expect(logged).toEqual([
    expect.objectContaining({
      msg: expect.stringContaining('longer than 64 characters; set `prefix: a-server-w` for the server'),
    }),
  ]);
});
