import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ListsUnderTest } from './lists-under-test.ts';
import type { List } from './long-lists.ts';

/** One list of each kind of page and of navigation. pages.long.ts turns the pages of all lists in a browser. */
const IN_BROWSER = ['ended requests', 'emergency grants to review', 'delegations received'];
/** For three pages: one with neither the first nor the last row. */
const ROWS = 110;

describe('inbox lists with more rows than a page', () => {
  const under = new ListsUnderTest({ rows: ROWS, lastPages: 2 });
  const { service, lists, idsOf } = under;
  beforeAll(() => under.start());
  afterAll(() => under.stop());

  it("are all lists in the API's answers", async () => {
    for (const path of ['/requests', '/delegations']) {
      const { body } = await service.asPerson('alice', path);
      const known = lists.filter((list) => list.path.startsWith(path)).map(({ member }) => member);
      const arrays = Object.keys(body).filter((member) => Array.isArray(body[member]));
      expect(arrays.toSorted()).toEqual([...new Set(known)].toSorted());
    }
  });

  describe.each(lists)('$name', (list: List) => {
    it('lists each row once and in order over the API, forward and back', async () => {
      const expected = await idsOf(list);
      expect(expected.length).toBeGreaterThanOrEqual(ROWS);
      const forth = await under.walk(list, 'next');
      expect(forth.pages.flat()).toEqual(expected);
      const back = await under.walk(list, 'previous', forth.opposite);
      expect([...back.pages.toReversed(), forth.pages.at(-1)].flat()).toEqual(expected);
    });

    if (IN_BROWSER.includes(list.name))
      it('lists each row of its last pages once and in order in a browser, forward and back', () =>
        under.expectLastPages(list));

    it('lists each row once while others come and go', async () => {
      const before = await idsOf(list);
      const gone = new Set<string>();
      const forth = await under.walk(list, 'next', undefined, async (pageNumber) => {
        await list.add();
        const victim = before[(pageNumber * 97) % before.length] ?? '';
        if (list.end !== undefined && !gone.has(victim)) await list.end(victim).then(() => gone.add(victim));
      });
      const seen = forth.pages.flat();
      const stayed = before.filter((id) => !gone.has(id));
      expect(seen.filter((id) => new Set(stayed).has(id))).toEqual(stayed);
      expect(new Set(seen).size).toBe(seen.length);
    });
  });

  it('show the number of open requests, and lead to the newest', async () => {
    const [list, yours] = lists as [List, List, ...List[]];
    const open = await idsOf(list);
    const { body } = await service.asPerson('alice', '/requests?status=yours&limit=1');
    expect([body.count, body.requests.length]).toEqual([(await idsOf(yours)).length, 1]);
    await under.page.goto(`${service.url}/requests`);
    expect(await under.page.locator('main').innerText()).toContain(`${open.length.toLocaleString('en')} requests open`);
    await under.page.getByRole('link', { name: 'Newest first' }).click();
    await under.page.waitForURL('**order=newest**');
    expect(await under.page.locator(list.shown.rows).first().getAttribute('data-request')).toBe(open.at(-1));
  });

  it('start again in a browser when a page is empty', async () => {
    const { body } = await service.asPerson('alice', '/requests?order=newest&limit=200&status=cancelled');
    const past = Buffer.from(JSON.stringify(['next', '2020-01-01T00:00:00.000000Z', 'x'])).toString('base64url');
    await under.page.goto(`${service.url}/requests?status=cancelled&cursor=${past}`);
    expect(new URL(under.page.url()).search).toBe('?status=cancelled');
    expect(await under.page.locator('ul.rows li').first().getAttribute('data-request')).toBe(body.requests[0].id);
  });

  it.each(['cursor=x', `cursor=${'A'.repeat(700)}`, 'limit=0', 'limit=201', 'order=odd', 'unreviewedCursor=x'])(
    'refuse %s',
    async (query) => {
      const { status, body } = await service.asPerson('alice', `/requests?${query}`);
      expect([status, body.title]).toEqual([400, 'There is no such page']);
    },
  );
});
