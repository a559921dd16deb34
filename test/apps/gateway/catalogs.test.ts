import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { AT, CENTERS, items, shownBy, startChoosing, text } from '../../support/choosing-calls.ts';
import { textOf } from '../../support/gateway-wire.ts';
import { questionIn, schemaOf, taskOf, WHY } from '../../support/input-calls.ts';

const MANY = Array.from({ length: 60 }, (_, n) => ({ value: `cc-${n}`, label: `Center ${n}` }));
const parametersOf = ({ path }: { path: string }) => Object.fromEntries(new URL(path, 'http://any.test').searchParams);
/** The answer of a service that searches correctly. */
const searching = (all: typeof MANY) => (parameters: URLSearchParams) =>
  items(all.filter(({ label }) => label.toLowerCase().includes(parameters.get('q') ?? '')));

let world: Awaited<ReturnType<typeof startChoosing>>;
beforeAll(async () => void (world = await startChoosing()));
afterAll(() => world.real.stop());
beforeEach(() => world.reset());

describe('a field with a catalog', () => {
  it('offers the values of its catalog, and the chosen value is submitted [ARAP-CAT-03] [ARAP-CAT-13] [ARAP-FRM-05] [ARAP-CAT-16]', async () => {
    const call = world.aCall();
    const shown = shownBy(await call());
    expect(shown.properties).toEqual({
      justification: expect.objectContaining({ type: 'string' }),
      center: {
        type: 'string',
        title: 'Cost center',
        oneOf: [
          { const: 'cc-7', title: 'Finance' },
          { const: 'cc-8', title: 'Research' },
        ],
      },
    });
    expect(taskOf(await call({ justification: WHY, center: 'cc-7' }))).toMatch(/^tsk_/);
    expect(world.submitted()).toEqual([{ justification: WHY, center: 'cc-7' }]);
    expect(world.looks().map(parametersOf)[0]).toEqual({ evaluation_id: 'e1', limit: '51' });
  });

  it('is read with the credential of the service, and its document without one [ARAP-CAT-06] [ARAP-SEC-03]', async () => {
    await world.aCall()();
    expect(world.looks().map(({ headers }) => headers.authorization)).toEqual(['Bearer ars-token-of-the-gateway']);
    expect(world.documentsRead().map(({ headers }) => headers.authorization)).toEqual([undefined]);
  });

  it('accepts no value that the catalog did not return [ARAP-CAT-14]', async () => {
    const call = world.aCall();
    await call();
    const again = await call({ justification: WHY, center: 'cc-9' });
    expect(shownBy(again).properties['center']?.oneOf).toHaveLength(2);
    expect(world.submitted()).toEqual([]);
  });

  it('accepts no value that was retired after the form was shown [ARAP-CAT-14]', async () => {
    const call = world.aCall();
    await call();
    world.catalog = () => items(CENTERS.slice(1));
    const again = await call({ justification: WHY, center: 'cc-7' });
    expect(shownBy(again).properties['center']?.oneOf).toEqual([{ const: 'cc-8', title: 'Research' }]);
    expect(world.submitted()).toEqual([]);
  });

  it('is asked for after the fields that it depends on, with their values [ARAP-CAT-04]', async () => {
    world.needs(schemaOf({ justification: text, app: text, center: text }, ['justification', 'center']));
    world.document = () => ({ fields: { [`${AT}/center`]: world.reference({ scope_params: { app: `${AT}/app` } }) } });
    world.catalog = (parameters) => items(parameters.get('app') === 'a1' ? CENTERS.slice(0, 1) : CENTERS.slice(1));
    const call = world.aCall();
    const first = await call();
    expect([Object.keys(shownBy(first).properties), shownBy(first).required, world.looks()]).toEqual([
      ['justification', 'app'],
      ['justification', 'app'],
      [],
    ]);
    const second = await call({ justification: WHY, app: 'a1' });
    expect(shownBy(second).properties).toEqual({
      center: { type: 'string', oneOf: [{ const: 'cc-7', title: 'Finance' }] },
    });
    expect(questionIn(second).key).not.toBe(questionIn(first).key);
    // A value of another scope is invalid.
    await call({ center: 'cc-8' });
    expect(world.submitted()).toEqual([]);
    expect(taskOf(await call({ center: 'cc-7' }))).toMatch(/^tsk_/);
    expect(world.submitted()).toEqual([{ justification: WHY, app: 'a1', center: 'cc-7' }]);
  });

  it('is asked for again when it gets a catalog after the caller typed a value [ARAP-CAT-14]', async () => {
    world.needs(schemaOf({ app: text, center: text }));
    world.document = () => ({ fields: { [`${AT}/center`]: world.reference({ scope_params: { app: `${AT}/app` } }) } });
    const call = world.aCall();
    await call();
    await call({ app: 'typed' });
    world.document = () => ({ fields: { [`${AT}/app`]: world.reference() } });
    world.needs(schemaOf({ app: text }));
    const anew = await call({ center: 'cc-7' });
    expect(shownBy(anew).properties['app']?.oneOf).toHaveLength(2);
    expect(world.submitted()).toEqual([]);
  });

  it('is left out with an optional field that it depends on, and its catalog is not read [ARAP-CAT-04]', async () => {
    world.needs(schemaOf({ justification: text, app: text, center: text }, ['justification']));
    world.document = () => ({ fields: { [`${AT}/center`]: world.reference({ scope_params: { app: `${AT}/app` } }) } });
    const call = world.aCall();
    await call();
    expect(taskOf(await call({ justification: WHY }))).toMatch(/^tsk_/);
    expect([world.submitted(), world.looks()]).toEqual([[{ justification: WHY }], []]);
  });

  it('is searched first when its catalog is large, until few values are left [ARAP-CAT-15]', async () => {
    world.catalog = searching(MANY);
    const call = world.aCall();
    expect(Object.keys(shownBy(await call()).properties)).toEqual(['justification', '_search_center']);
    const tooMuch = await call({ justification: WHY, _search_center: 'center' });
    expect(shownBy(tooMuch).properties['_search_center']?.description).toMatch(/^The search found too many values/);
    const nothing = await call({ _search_center: 'elsewhere' });
    expect(shownBy(nothing).properties['_search_center']?.description).toMatch(/^The search found nothing/);
    const some = await call({ _search_center: 'center 5' });
    expect(shownBy(some).properties['center']?.oneOf).toHaveLength(11);
    expect(taskOf(await call({ center: 'cc-5' }))).toMatch(/^tsk_/);
    expect(world.submitted()).toEqual([{ justification: WHY, center: 'cc-5' }]);
  });

  it('is searched a limited number of times, and then no approval is requested', async () => {
    world.catalog = () => items(MANY);
    const call = world.aCall();
    let answer = await call();
    let rounds = 0;
    while (answer.body.result?.['resultType'] === 'input_required') {
      answer = await call({ justification: WHY, _search_center: `x${(rounds += 1)}` });
    }
    expect([rounds, textOf(answer.body.result)]).toEqual([8, expect.stringMatching(/Nothing was requested/)]);
  });

  it('with paths for value and label is read by them, and unknown members are ignored [ARAP-CAT-02] [ARAP-CAT-03]', async () => {
    world.document = () => ({
      colour: 'red',
      fields: {
        [`${AT}/center`]: world.reference({
          search_param: 's',
          value_path: '/id/x~1y',
          label_path: '/name',
          colour: 1,
        }),
      },
    });
    world.catalog = () => items([{ id: { 'x/y': 'v1' }, name: 'One', value: 'no' }], { total: 'many', colour: 2 });
    expect(shownBy(await world.aCall()()).properties['center']?.oneOf).toEqual([{ const: 'v1', title: 'One' }]);
  });
});

it('a form without catalogs is shown unchanged, and no catalog is read [ARAP-CAT-21]', async () => {
  world.asking.needs(schemaOf({ center: text }));
  const call = world.aCall();
  expect(shownBy(await call()).properties['center']).not.toHaveProperty('oneOf');
  expect(taskOf(await call({ center: 'anything' }))).toMatch(/^tsk_/);
  expect(world.real.authority.seen.filter(({ path }) => path.includes('catalogs'))).toEqual([]);
});
