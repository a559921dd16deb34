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

/** How the upstream describes the tool now. */
const look = async () => (await pool.find('bank__pay', { live: true }))?.definition['description'];

/** Two simultaneous lookups, each answered with the given description. */
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

it('a lookup of a tool gets the answer to its own read, even if simultaneous lookups are answered later', async () => {
  const [first, second] = await twoLooks();
  expect(await first.answer(CHANGED)).toBe(CHANGED.description);
  expect(await second.answer(ORIGINAL)).toBe(ORIGINAL.description);
});

it('a lookup of a tool gets the latest answer, even if an earlier answer arrives after it', async () => {
  const [first, second] = await twoLooks();
  expect(await second.answer(CHANGED)).toBe(CHANGED.description);
  expect(await first.answer(ORIGINAL)).toBe(CHANGED.description);
});

it('a tool that changes while the change stream is broken is current after a reconnect', async () => {
  bank.cut();
  bank.described = CHANGED;
  await waitFor(async () => (await pool.find('bank__pay'))?.definition['description'] === CHANGED.description);
});

describe('an upstream without change notices', () => {
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

  it('has its list read once for all simultaneous lookups', async () => {
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
    // The read that was running when most of them came, and the next one.
    expect(silent.lists - before).toBe(2);
  });

  it('announces no change when the list is the same as before', async () => {
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

  it('gets no approved call from a process that knows an outdated description', async () => {
    const { silent, own } = await start(0);
    const tool = await own.find('bank__pay');
    expect(await isPaid(tool?.digest, own)).toMatchObject({ kind: 'result' });
    silent.described = CHANGED;
    expect(await isPaid(tool?.digest, own)).toEqual({ kind: 'not_sent', cause: 'ERR_CALL_BINDING_MISMATCH' });
    expect(silent.calls).toBe(1);
  });

  it('gets no approved call while its tools cannot be listed', async () => {
    const { silent, own } = await start(0);
    const tool = await own.find('bank__pay');
    silent.onList = () => Promise.reject(new Error('the list is broken'));
    expect(await isPaid(tool?.digest, own)).toEqual({ kind: 'not_sent', cause: 'ERR_UPSTREAM_LIST_UNAVAILABLE' });
    expect(silent.calls).toBe(0);
  });

  it('keeps the connection of a running call while its tools cannot be listed', async () => {
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

describe('the freshness of a list', () => {
  it.each([
    ['without a time to live: fresh', 30, {}, true],
    ['with a time to live: fresh', 30, { ttlMs: 60_000 }, true],
    ['with an invalid hint: fresh', 30, { ttlMs: 'for ever' }, true],
    ['without any allowed age: stale', 0, { ttlMs: 60_000 }, false],
  ])('%s [CACHE-001]', async (_what, maxListAgeSeconds, hint, isGood) => {
    const list = aList();
    await list.read(async () => ({ tools: [], ...hint }), { ...limits, maxListAgeSeconds });
    expect(list.isGood()).toBe(isGood);
  });

  it('ends soon when the server declares it stale at once', async () => {
    const list = aList();
    await list.read(ask, limits);
    await waitFor(() => !list.isGood());
  });

  it('is that of the page with the shortest time to live [CACHE-002]', async () => {
    const list = aList();
    const pages = [
      { tools: [], ttlMs: 60_000, nextCursor: 'next' },
      { tools: [], ttlMs: 0 },
    ];
    await list.read(async () => pages.shift(), limits);
    await waitFor(() => !list.isGood());
  });

  it('ends when the list changed during the read', async () => {
    const list = aList();
    const read = list.read(async () => {
      list.changed();
      return { tools: [] };
    }, limits);
    await read;
    expect(list.isGood()).toBe(false);
  });
});
