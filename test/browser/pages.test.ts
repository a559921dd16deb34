import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { ApprovalsUnderTest } from '../support/approvals.ts';
import { launchBrowser } from '../support/chromium.ts';
import { longLists, type List } from './long-lists.ts';
import { signPageIn } from '../support/page-sign-in.ts';

/** More than the maximum of one answer, which is 200. */
const ROWS = 210;
/** The last pages of a list, which cross that maximum. A browser takes long for all pages, and they are alike. */
const LAST_PAGES = 3;

describe('inbox lists with more rows than a page', () => {
  const service = new ApprovalsUnderTest();
  const { lists, fill, all } = longLists(service);
  let browser: Browser;
  let page: Page;
  beforeAll(async () => {
    await service.start();
    await fill(ROWS);
    browser = await launchBrowser();
    page = await browser.newPage();
    page.setDefaultTimeout(60_000);
    await signPageIn(page, service.url, 'alice');
  });
  afterAll(async () => {
    await browser.close();
    await service.stop();
  });

  const idsOf = async (list: List) => (await all(list)).map(({ id }) => id);
  const parameterOf = ({ cursor }: List) => (cursor === '' ? 'cursor' : `${cursor.toLowerCase()}Cursor`);

  /** Follows the pages like a program, to the end of the list in this direction. */
  async function walk(list: List, towards: 'next' | 'previous', start?: string, between = async (_page: number) => {}) {
    const pages: string[][] = [];
    const addresses: string[] = [];
    const url = new URL(list.path, service.url);
    for (let cursor = start; ;) {
      if (cursor !== undefined) url.searchParams.set(parameterOf(list), cursor);
      addresses.push(url.href);
      const { body } = await service.asPerson('alice', `${url.pathname}${url.search}`);
      pages.push((body[list.member] as Record<string, string>[]).map((row) => row[list.id] ?? ''));
      cursor = body[`${towards}${list.cursor}Cursor`] as string | undefined;
      const opposite = body[`previous${list.cursor}Cursor`] as string | undefined;
      if (cursor === undefined) return { pages, addresses, opposite };
      await between(pages.length);
    }
  }

  /** Follows the pages like a person, to the end of the list or for this many pages. */
  async function turn({ shown: { rows, attribute }, links }: List, rel: 'next' | 'prev', most = Infinity) {
    const read = (elements: HTMLElement[], name: string) =>
      elements.map((one) => (name === '' ? one.innerText : one.getAttribute(name)));
    const pages: string[][] = [];
    for (;;) {
      pages.push((await page.locator(rows).evaluateAll(read, attribute ?? '')).map(String));
      const link = page.locator(links).locator(`a[rel=${rel}]`);
      if (pages.length === most || (await link.count()) === 0) return pages;
      await link.click();
      await page.waitForLoadState();
    }
  }

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
      const forth = await walk(list, 'next');
      expect(forth.pages.flat()).toEqual(expected);
      const back = await walk(list, 'previous', forth.opposite);
      expect([...back.pages.toReversed(), forth.pages.at(-1)].flat()).toEqual(expected);
    });

    it('lists each row of its last pages once and in order in a browser, forward and back', async () => {
      const expected = (await all(list)).map(({ shown }) => shown);
      const { pages, addresses } = await walk(list, 'next');
      await page.goto(addresses.at(-LAST_PAGES) ?? '');
      const forth = await turn(list, 'next');
      expect(forth.flat()).toEqual(expected.slice(-pages.slice(-LAST_PAGES).flat().length));
      expect(forth).toHaveLength(LAST_PAGES);
      expect((await turn(list, 'prev', LAST_PAGES)).toReversed()).toEqual(forth);
    });

    it('lists each row once while others come and go', async () => {
      const before = await idsOf(list);
      const gone = new Set<string>();
      const forth = await walk(list, 'next', undefined, async (pageNumber) => {
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
    const [list] = lists as [List, ...List[]];
    const open = await idsOf(list);
    const { body } = await service.asPerson('alice', '/requests?status=yours&limit=1');
    expect([body.count, body.requests.length]).toEqual([open.length, 1]);
    await page.goto(`${service.url}/requests`);
    expect(await page.locator('main').innerText()).toContain(`${open.length.toLocaleString('en')} requests open`);
    await page.getByRole('link', { name: 'Newest first' }).click();
    await page.waitForURL('**order=newest**');
    expect(await page.locator(list.shown.rows).first().getAttribute('href')).toBe(`/requests/${open.at(-1)}`);
  });

  it('start again in a browser when a page is empty', async () => {
    const { body } = await service.asPerson('alice', '/requests?order=newest&limit=200&status=cancelled');
    const past = Buffer.from(JSON.stringify(['next', '2020-01-01T00:00:00.000000Z', 'x'])).toString('base64url');
    await page.goto(`${service.url}/requests?status=cancelled&cursor=${past}`);
    expect(new URL(page.url()).search).toBe('?status=cancelled');
    expect(await page.locator('ul.rows a').first().getAttribute('href')).toBe(`/requests/${body.requests[0].id}`);
  });

  it.each(['cursor=x', `cursor=${'A'.repeat(700)}`, 'limit=0', 'limit=201', 'order=odd', 'unreviewedCursor=x'])(
    'refuse %s',
    async (query) => {
      const { status, body } = await service.asPerson('alice', `/requests?${query}`);
      expect([status, body.title]).toEqual([400, 'There is no such page']);
    },
  );
});
