import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { AT, CENTERS, items, shownBy, startChoosing, text } from '../../support/choosing-calls.ts';
import { textOf } from '../../support/gateway-wire.ts';
import { schemaOf } from '../../support/input-calls.ts';

let world: Awaited<ReturnType<typeof startChoosing>>;
beforeAll(async () => void (world = await startChoosing()));
afterAll(() => world.real.stop());
beforeEach(() => world.reset());

describe('a catalog that misleads', () => {
  it('with a wrong total and circular cursors is read once through [ARAP-CAT-12] [ARAP-CAT-10]', async () => {
    const pages: Record<string, ReturnType<typeof items>> = {
      '': items(CENTERS.slice(0, 1), { next_cursor: 'b', total: 4_000 }),
      b: items(CENTERS.slice(1), { next_cursor: 'c', total: 0 }),
      c: items(CENTERS, { next_cursor: 'b', total: -1 }),
    };
    world.catalog = (parameters) => pages[parameters.get('cursor') ?? ''] ?? items([]);
    expect(shownBy(await world.aCall()()).properties['center']?.oneOf).toHaveLength(2);
    expect(world.looks()).toHaveLength(3);
  });

  it('without an end is searched after a few pages', async () => {
    let page = 0;
    world.catalog = () => items(CENTERS, { next_cursor: `page-${(page += 1)}` });
    expect(shownBy(await world.aCall()()).properties).toHaveProperty('_search_center');
    expect(world.looks()).toHaveLength(10);
  });

  it('with two values under one label shows which is which', async () => {
    world.catalog = () => items([{ value: 'a', label: 'Same' }, { value: 'b', label: 'Same' }, { value: 'c' }]);
    const titles = shownBy(await world.aCall()()).properties['center']?.oneOf?.map(({ title }) => title);
    expect(titles).toEqual(['Same (a)', 'Same (b)', 'c']);
  });

  it.each<[string, () => { status: number; body: unknown }]>([
    ['has no items', () => ({ status: 200, body: { total: 1 } })],
    ['has items without a value', () => items([{ label: 'Finance' }])],
    ['has a value that is not a text', () => items([{ value: { id: 1 }, label: 'Finance' }])],
    ['has a value that would be shown differently than sent', () => items([{ value: 'cc\u202e-7', label: 'Finance' }])],
    ['refuses', () => ({ status: 403, body: {} })],
    ['is empty', () => items([])],
  ])('that %s causes no question and no request [ARAP-FRM-05]', async (_case, answer) => {
    world.catalog = answer;
    const { body } = await world.aCall()();
    expect([body.result?.['isError'], world.submitted()]).toEqual([true, []]);
    expect(textOf(body.result)).toMatch(/did not run.*Nothing was requested.*Next step.*catalog_unusable/);
  });

  it('that does not answer causes an error that says so, and works once it answers', async () => {
    world.catalog = () => ({ status: 503, body: {} });
    const call = world.aCall();
    expect((await call()).body.error).toMatchObject({ message: expect.stringMatching(/again|later/i) });
    world.catalog = () => items(CENTERS);
    expect(shownBy(await call()).properties).toHaveProperty('center');
  });
});

describe('a catalog document', () => {
  const elsewhere = 'https://evil.example.com/catalogs';
  it.each<[string, () => unknown]>([
    ['names another host', () => ({ fields: { [`${AT}/center`]: world.reference({ endpoint: elsewhere }) } })],
    ['names no endpoint', () => ({ fields: { [`${AT}/center`]: {} } })],
    ['names an unknown field', () => ({ fields: { '/context/other': world.reference() } })],
    ['names an invalid pointer', () => ({ fields: { center: world.reference() } })],
    ['has no fields', () => ({})],
    [
      'has fields that depend on each other',
      () => ({
        fields: {
          [`${AT}/center`]: world.reference({ scope_params: { a: `${AT}/justification` } }),
          [`${AT}/justification`]: world.reference({ scope_params: { a: `${AT}/center` } }),
        },
      }),
    ],
    ['is a list', () => []],
  ])(
    'that %s causes no catalog read, no question and no submission [ARAP-CAT-01] [ARAP-FRM-05] [ARAP-SEC-02]',
    async (_case, bad) => {
      world.document = bad;
      const { body } = await world.aCall()();
      expect([body.result?.['isError'], world.looks(), world.submitted()]).toEqual([true, [], []]);
    },
  );

  it.each([
    ['is on another host', elsewhere],
    ['has an invalid address', 'nowhere'],
  ])('that %s is not fetched, and the denial is final [ARAP-SEC-02]', async (_case, at) => {
    world.needs(schemaOf({ center: text }), at);
    const { body } = await world.aCall()();
    expect([body.result?.['isError'], world.submitted()]).toEqual([true, []]);
    expect(world.real.authority.seen.filter(({ path }) => path.includes('canary-'))).toEqual([]);
  });
});

it('a client learns no names of the services behind', () => {
  expect(world.real.received.length).toBeGreaterThan(10);
  expect(world.real.received.join('\n')).not.toMatch(/canary|request_catalogs_url|evaluation_id|evil/);
});
