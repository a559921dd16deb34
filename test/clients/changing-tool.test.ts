import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { UpstreamPool } from '../../activities/clients/upstream/pool.ts';
import { createList } from '../../activities/clients/upstream/list.ts';
import { startChangingUpstream } from '../support/changing-upstream.ts';
import { openUpstreams } from '../support/upstreams.ts';
import { waitFor } from '../support/wait-for.ts';
import { systemTime } from '../support/time.ts';

const ORIGINAL = { description: 'Pays.', properties: {}, annotations: {} };
const CHANGED = { ...ORIGINAL, description: 'Pays twice.' };

let bank: Awaited<ReturnType<typeof startChangingUpstream>>;
let pool: UpstreamPool;
beforeAll(async () => {
  bank = await startChangingUpstream(ORIGINAL);
  pool = openUpstreams({ bank: { url: bank.url } });
});
afterAll(async () => {
  await pool.close();
  await bank.close();
});
beforeEach(async () => {
  Object.assign(bank, { described: ORIGINAL, onList: async () => undefined });
  await look();
});

/** How the tool is described, by its upstream and now. */
const look = async () => (await pool.find('bank__pay', { live: true }))?.definition['description'];

/** Two looks at once, each of which is answered by the description that it is given. */
async function twoLooks() {
  const lists: (() => void)[] = [];
  bank.onList = () => new Promise((release) => lists.push(release));
  const begin = async (index: number) => {
    const found = look();
    await waitFor(() => lists.length === index + 1);
    return {
      answer(described: typeof ORIGINAL) {
        bank.described = described;
        lists[index]?.();
        return found;
      },
    };
  };
  return [await begin(0), await begin(1)] as const;
}

it('a tool that is looked at is what its upstream says, though others look at the same time and are answered later', async () => {
  const [first, second] = await twoLooks();
  expect(await first.answer(CHANGED)).toBe(CHANGED.description);
  expect(await second.answer(ORIGINAL)).toBe(ORIGINAL.description);
});

it('a tool that is looked at is what its upstream said last, though an earlier answer comes after it', async () => {
  const [first, second] = await twoLooks();
  expect(await second.answer(CHANGED)).toBe(CHANGED.description);
  expect(await first.answer(ORIGINAL)).toBe(CHANGED.description);
});

it('a tool that changes while the stream of changes is broken is known as it is when there is another', async () => {
  bank.cut();
  bank.described = CHANGED;
  await waitFor(async () => (await pool.find('bank__pay'))?.definition['description'] === CHANGED.description);
});

describe('of an upstream that does not tell of changes', () => {
  const started: { close(): Promise<void> }[] = [];
  afterEach(async () => {
    for (const one of started.splice(0).reverse()) await one.close();
  });
  const start = async (maxListAgeSeconds: number) => {
    const silent = await startChangingUpstream(ORIGINAL, 'stateless');
    const own = openUpstreams({ bank: { url: silent.url, limits: { maxListAgeSeconds } } });
    started.push(silent, own);
    return { silent, own };
  };
  const isPaid = (digest: string | undefined, own: UpstreamPool) =>
    own.call(
      { upstream: 'bank', upstreamTool: 'pay', toolDigest: digest ?? '', arguments: {} },
      { signal: new AbortController().signal },
    );

  it('the list is read once for all that ask while it is read', async () => {
    const { silent, own } = await start(0);
    await own.find('bank__pay');
    const before = silent.lists;
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    silent.onList = () => held;
    const found = Array.from({ length: 20 }, () => own.find('bank__pay'));
    await waitFor(() => silent.lists > before);
    release();
    expect(new Set((await Promise.all(found)).map((tool) => tool?.name))).toEqual(new Set(['bank__pay']));
    // The reading that was under way when most of them came, and the next one.
    expect(silent.lists - before).toBe(2);
  });

  it('nobody is told of a list that is the same as before', async () => {
    const { silent, own } = await start(0);
    await own.find('bank__pay');
    const told: string[] = [];
    own.onChange((what) => void told.push(what));
    const before = silent.lists;
    await own.find('bank__pay');
    expect([silent.lists > before, told.filter((what) => what === 'tools')]).toEqual([true, []]);
    silent.described = CHANGED;
    await own.find('bank__pay');
    expect(told).toContain('tools');
  });

  it('a call that was approved is not sent by a process that knows only what the tool was like', async () => {
    const { silent, own } = await start(0);
    const tool = await own.find('bank__pay');
    expect(await isPaid(tool?.digest, own)).toMatchObject({ kind: 'result' });
    silent.described = CHANGED;
    expect(await isPaid(tool?.digest, own)).toEqual({ kind: 'not_sent', cause: 'ERR_CALL_BINDING_MISMATCH' });
    expect(silent.calls).toBe(1);
  });

  it('a call that was approved is not sent while the tools cannot be listed', async () => {
    const { silent, own } = await start(0);
    const tool = await own.find('bank__pay');
    silent.onList = () => Promise.reject(new Error('the list is broken'));
    expect(await isPaid(tool?.digest, own)).toEqual({ kind: 'not_sent', cause: 'ERR_UPSTREAM_LIST_UNAVAILABLE' });
    expect(silent.calls).toBe(0);
  });

  it('a call that is under way keeps its connection while the tools cannot be listed', async () => {
    const { silent, own } = await start(0);
    const tool = await own.find('bank__pay');
    let release = (): void => undefined;
    silent.onCall = () => new Promise<void>((resolve) => (release = resolve));
    const paid = isPaid(tool?.digest, own);
    await waitFor(() => silent.calls === 1);
    silent.onList = () => Promise.reject(new Error('the list is broken'));
    await expect(own.find('bank__pay')).rejects.toMatchObject({ code: 'ERR_UPSTREAM_LIST_UNAVAILABLE' });
    release();
    expect(await paid).toMatchObject({ kind: 'result', isError: false });
  });
});

const ask = async () => ({ tools: [], ttlMs: 0 });
const limits = { maxMessageBytes: 1_000_000, maxListItems: 10, maxListAgeSeconds: 30 };
const aList = () =>
  createList({ method: 'tools/list', member: 'tools', key: 'name', capability: 'tools' }, systemTime.clock);

describe('a list that was read', () => {
  it.each([
    ['without a word, is good', 30, {}, true],
    ['with a time to live, is good', 30, { ttlMs: 60_000 }, true],
    ['with a hint that is none, is good', 30, { ttlMs: 'for ever' }, true],
    ['and may have no age, is not good', 0, { ttlMs: 60_000 }, false],
  ])('%s [CACHE-001]', async (_what, maxListAgeSeconds, hint, isGood) => {
    const list = aList();
    await list.read(async () => ({ tools: [], ...hint }), { ...limits, maxListAgeSeconds });
    expect(list.isGood()).toBe(isGood);
  });

  it('and whose server says that it is stale at once, is not good for long', async () => {
    const list = aList();
    await list.read(ask, limits);
    await waitFor(() => !list.isGood());
  });

  it('is as good as the page that is good for the shortest time [CACHE-002]', async () => {
    const list = aList();
    const pages = [
      { tools: [], ttlMs: 60_000, nextCursor: 'next' },
      { tools: [], ttlMs: 0 },
    ];
    await list.read(async () => pages.shift(), limits);
    await waitFor(() => !list.isGood());
  });

  it('while it changed is not good', async () => {
    const list = aList();
    const read = list.read(async () => {
      list.changed();
      return { tools: [] };
    }, limits);
    await read;
    expect(list.isGood()).toBe(false);
  });
});
