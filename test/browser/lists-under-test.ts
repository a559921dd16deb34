import { expect } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { ApprovalsUnderTest } from '../support/approvals.ts';
import { launchBrowser } from '../support/chromium.ts';
import { longLists, type List } from './long-lists.ts';

interface Size {
  /** In each list, or more. A page has 50. */
  readonly rows: number;
  /** The last pages of a list that a browser turns, from 2. It takes long for all pages, and they are alike. */
  readonly lastPages: number;
}

const parameterOf = ({ cursor }: List) => (cursor === '' ? 'cursor' : `${cursor.toLowerCase()}Cursor`);

/** All lists of the inbox with more rows than a page, and a browser in which `alice` has signed in. */
export class ListsUnderTest {
  readonly service = new ApprovalsUnderTest();
  readonly #long = longLists(this.service);
  readonly lists = this.#long.lists;
  page!: Page;
  #browser: Browser | undefined;

  constructor(readonly size: Size) {}

  async start(): Promise<void> {
    await this.service.start();
    await this.#long.fill(this.size.rows);
    this.#browser = await launchBrowser();
    const context = await this.#browser.newContext();
    await context.addCookies((await this.service.signIn('alice')).cookies());
    this.page = await context.newPage();
  }

  async stop(): Promise<void> {
    await this.#browser?.close();
    await this.service.stop();
  }

  idsOf = async (list: List) => (await this.#long.all(list)).map(({ id }) => id);

  /** Follows the pages like a program, to the end of the list in this direction. */
  async walk(list: List, towards: 'next' | 'previous', start?: string, between = async (_page: number) => {}) {
    const pages: string[][] = [];
    const addresses: string[] = [];
    const url = new URL(list.path, this.service.url);
    for (let cursor = start; ;) {
      if (cursor !== undefined) url.searchParams.set(parameterOf(list), cursor);
      addresses.push(url.href);
      const { body } = await this.service.asPerson('alice', `${url.pathname}${url.search}`);
      pages.push((body[list.member] as Record<string, string>[]).map((row) => row[list.id] ?? ''));
      cursor = body[`${towards}${list.cursor}Cursor`] as string | undefined;
      const opposite = body[`previous${list.cursor}Cursor`] as string | undefined;
      if (cursor === undefined) return { pages, addresses, opposite };
      await between(pages.length);
    }
  }

  /** Expects each row of the last pages once and in order in the browser, forward and back. */
  async expectLastPages(list: List): Promise<void> {
    const { lastPages } = this.size;
    const expected = (await this.#long.all(list)).map(({ shown }) => shown);
    const { pages, addresses } = await this.walk(list, 'next');
    await this.page.goto(addresses.at(-lastPages) ?? '');
    const forth = await this.#turn(list, 'next');
    expect(forth.flat()).toEqual(expected.slice(-pages.slice(-lastPages).flat().length));
    expect(forth).toHaveLength(lastPages);
    expect((await this.#turn(list, 'prev', lastPages)).toReversed()).toEqual(forth);
  }

  /** Follows the pages like a person, to the end of the list or for this many pages. */
  async #turn({ shown: { rows, attribute }, links }: List, rel: 'next' | 'prev', most = Infinity) {
    const read = (elements: HTMLElement[], name: string) =>
      elements.map((one) => (name === '' ? one.innerText : one.getAttribute(name)));
    const pages: string[][] = [];
    for (;;) {
      pages.push((await this.page.locator(rows).evaluateAll(read, attribute ?? '')).map(String));
      const link = this.page.locator(links).locator(`a[rel=${rel}]`);
      if (pages.length === most || (await link.count()) === 0) return pages;
      await link.click();
      await this.page.waitForLoadState();
    }
  }
}
