import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { UpstreamPool } from '../../activities/clients/upstream.ts';
import { startChangingUpstream } from '../support/changing-upstream.ts';
import { openUpstreams } from '../support/upstreams.ts';
import { waitFor } from '../support/wait-for.ts';

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
