import { afterEach, describe, expect, it } from '@jest/globals';
import type { UpstreamPool } from '../../activities/clients/upstream/pool.ts';
import type { ItemKind } from '../../workflows/domain/upstream-ports.ts';
import { ALICE } from '../support/gateway-world.ts';
import { openUpstreams, untilFound } from '../support/upstreams.ts';
import { patiently, waitFor } from '../support/wait-for.ts';

const fixture = new URL('./fixtures/listing-server.mjs', import.meta.url).pathname;
const server = (lists: object) => ({ command: process.execPath, args: [fixture, JSON.stringify(lists)] });
const never = () => new AbortController().signal;

let pool: UpstreamPool;
afterEach(() => pool.close());
/** Opens the upstreams and waits until all are connected: lists wait only for a limited time, and programs may start slowly. */
const open = async (servers: Record<string, object>) => {
  pool = openUpstreams(Object.fromEntries(Object.entries(servers).map(([name, lists]) => [name, server(lists)])));
  const look = (name: string) => patiently(async () => (await pool.find(`${name}__grow`), true));
  await Promise.all(Object.keys(servers).map(look));
};
const names = async (kind: ItemKind) => (await pool.items.list(kind)).map(({ name }) => name);

describe('the upstream items other than tools', () => {
  it('are listed in the order of their names, with every member', async () => {
    await open({
      b: { prompts: ['z', 'a'], resources: ['x://2'] },
      a: { prompts: ['m'], resources: ['x://3', 'x://1'] },
    });
    expect(await names('prompt')).toEqual(['a__m', 'b__a', 'b__z']);
    expect(await names('resource')).toEqual(['x://1', 'x://2', 'x://3']);
    expect(await pool.items.find('prompt', 'b__z')).toEqual({
      kind: 'prompt',
      upstream: 'b',
      connection: expect.any(Number),
      upstreamName: 'z',
      name: 'b__z',
      definition: { name: 'z', 'x-vendor': { kept: true } },
      digest: expect.stringMatching(/^sha-256:[0-9a-f]{64}$/),
    });
    expect(await pool.items.find('prompt', 'z')).toBeUndefined();
  });

  it('belong to no upstream when two claim them', async () => {
    await open({
      a: {
        resources: ['x://both', 'x://a', 'x://a', 'x://t/listed'],
        templates: ['x://t/{id}', 'x://only/{id}/end'],
        prompts: ['_p'],
      },
      a_: { resources: ['x://both'], templates: ['x://t/{+rest}'], prompts: ['p'] },
    });
    expect(await names('resource')).toEqual(['x://a', 'x://t/listed']);
    expect(await names('prompt')).toEqual([]);
    const owner = async (uri: string) => (await pool.items.findResource(uri))[0]?.upstream;
    expect(await owner('x://both')).toBeUndefined();
    expect(await owner('x://a')).toBe('a');
    expect(await owner('x://t/listed')).toBeUndefined();
    expect(await owner('x://t/7')).toBeUndefined();
    expect(await owner('x://only/7/end')).toBe('a');
    expect(await owner('x://only/7/end/more')).toBeUndefined();
    expect(await owner('x://only/end')).toBeUndefined();
  });

  it('exclude a template that would claim every address', async () => {
    await open({
      a: { templates: ['{+anything}', '{scheme}://x'] },
      b: { resources: ['x://b'], templates: ['y://{id}'] },
    });
    expect((await pool.items.findResource('y://7'))[0]?.upstream).toBe('b');
    expect(await pool.items.findResource('z://7')).toEqual([]);
  });

  it('exclude the page of the gateway, and no template answers for it', async () => {
    const card = 'ui://countersign/held-call';
    await open({ a: { resources: [card, 'ui://countersign/other'], templates: ['ui://{host}/{page}', `${card}`] } });
    expect(await names('resource')).toEqual(['ui://countersign/other']);
    expect([await pool.items.findResource(card), await pool.items.find('resource', card)]).toEqual([[], undefined]);
    expect((await pool.items.findResource('ui://countersign/other'))[0]?.upstream).toBe('a');
  });

  it('are read again when the upstream says that they changed', async () => {
    await open({ a: { prompts: ['p'], resources: ['x://1'] } });
    const changes = new Set<string>();
    expect([await names('prompt'), await names('resource')]).toEqual([['a__p'], ['x://1']]);
    pool.onChange((what) => changes.add(what));
    await pool.call({ upstream: 'a', upstreamTool: 'grow', arguments: {} }, { signal: never() });
    await waitFor(() => changes.has('prompts') && changes.has('resources'));
    expect([await names('prompt'), await names('resource')]).toEqual([
      ['a__p', 'a__x://grown'],
      ['x://1', 'x://grown'],
    ]);
  });

  it('are missing for an upstream whose list fails, and the others are listed', async () => {
    await open({ a: { prompts: ['p'], fails: 'resources/list' }, b: { resources: ['x://b'] } });
    expect(await names('resource')).toEqual(['x://b']);
    expect(await names('prompt')).toEqual(['a__p']);
    expect((await pool.tools()).map(({ name }) => name)).toContain('a__grow');
  });

  it('are listed for an upstream without tools', async () => {
    await open({ a: { prompts: ['p'], resources: ['x://a'], tools: false }, b: {} });
    expect((await pool.tools()).map(({ name }) => name)).toEqual(['b__grow']);
    expect([await names('prompt'), await names('resource')]).toEqual([['a__p'], ['x://a']]);
    expect(await pool.find('a__grow')).toBeUndefined();
    expect(await pool.find('a__grow', { live: true })).toBeUndefined();
    expect(pool.items.mayHave('completions')).toBe(false);
  });
});

it('a missing kind of items is known once every upstream has been reached', async () => {
  const toolsOnly = new URL('./fixtures/crashing-server.mjs', import.meta.url).pathname;
  pool = openUpstreams({ a: { command: process.execPath, args: [toolsOnly] } });
  expect(pool.items.mayHave('prompts')).toBe(true);
  await untilFound(pool, 'a__pid');
  expect(await pool.items.list('prompt')).toEqual([]);
  expect(pool.items.mayHave('prompts')).toBe(false);
});

describe('a request for an item', () => {
  const ask = (method: 'prompts/get' | 'resources/read', params = {}, signal = never()) =>
    pool.items.ask({ upstream: 'a', method, params, caller: ALICE }, { signal });

  it('returns the answer of its upstream', async () => {
    await open({ a: {} });
    expect(await ask('resources/read', { uri: 'x://1' })).toMatchObject({
      kind: 'result',
      result: { contents: [{ uri: 'x://1', text: 'read', beyond: true }] },
    });
  });

  it('fails when the answer is invalid or an error', async () => {
    await open({ a: { fails: 'resources/read' } });
    expect(await ask('prompts/get', { name: 'p' })).toMatchObject({ kind: 'error', code: -32_603 });
    expect(await ask('resources/read', { uri: 'x://1' })).toMatchObject({ kind: 'error', message: 'unknown' });
    expect(await ask('resources/read', {}, AbortSignal.abort())).toMatchObject({ kind: 'not_sent' });
  });
});
