import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { ApprovalsUnderTest } from '../support/approvals.ts';
import { launchBrowser } from '../support/chromium.ts';
import { bringSignIn } from '../support/page-sign-in.ts';
import { waitFor } from '../support/wait-for.ts';
import { call } from './two-browsers.ts';

describe('one request after the other', () => {
  const service = new ApprovalsUnderTest();
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  beforeAll(async () => {
    await service.start({
      approvals: { templates: { either: { stages: [{ name: 'one', approvers: { people: ['alice', 'bob'] } }] } } },
    });
    browser = await launchBrowser({ canUndo: true });
    context = await browser.newContext();
    await bringSignIn(context, { site: service.url, issuer: service.config.urls.issuer }, 'alice');
    page = await context.newPage();
  });
  afterAll(async () => {
    await browser.close();
    await service.stop();
  });

  type Opened = Awaited<ReturnType<typeof service.open>>;
  /** Four of one tool with four others between them. */
  async function fill(tool: string): Promise<Opened[]> {
    const opened: Opened[] = [];
    for (let n = 0; n < 4; n += 1) {
      opened.push(await service.open(call(tool, 'write', { arguments: { path: `/srv/${n}`, [`only_${n}`]: n } })));
      await service.open(call(`${tool}_other`, 'write', { arguments: { [`only_${n}`]: n } }));
    }
    return opened;
  }
  const isAt = (request: Opened | undefined) => page.waitForURL(`**/requests/${request?.id}?**`);
  const button = (name: string) => page.getByRole('button', { name, exact: true });
  const link = (name: string | RegExp) => page.getByRole('link', { name });
  const statusOf = async (request: Opened | undefined) =>
    (await service.status(request?.id ?? '')).body.task.status as string;
  const waiting = () => page.locator('.undo').getByText(/ in \d s\.$/);
  const decide = async (name: 'Approve' | 'Deny') => {
    await button(name).click();
    await waiting().waitFor();
  };

  it('leads through the list that one came from, in its order, by links and by j and k, and back to its page', async () => {
    const [first, second, third, fourth] = await fill('next__one');
    const list = `${service.url}/requests?status=yours&tool=next__one&order=newest&limit=3`;
    await page.goto(list);
    await page.locator(`[data-request="${third?.id}"] .row-title`).click();
    await isAt(third);
    await page.getByText('2 of 4', { exact: true }).waitFor();
    await link('Next ›').click();
    await isAt(second);
    await page.keyboard.press('k');
    await isAt(third);
    await page.keyboard.press('k');
    await isAt(fourth);
    expect(await link('‹ Previous').count()).toBe(0);
    await page.keyboard.press('j');
    await page.keyboard.press('u');
    await page.waitForURL(/[?]status=yours/);
    const parametersOf = (address: string) => Object.fromEntries(new URL(address).searchParams);
    expect(parametersOf(page.url())).toEqual(parametersOf(list));
    await link('Next →').click();
    await page.locator(`[data-request="${first?.id}"] .row-title`).click();
    await isAt(first);
    expect(new URL(await link('← Back to the list').evaluate((one: HTMLAnchorElement) => one.href)).search).toContain(
      'cursor=',
    );
  });

  it('names the next request after a decision, with its place in the list, and keeps the list through every form', async () => {
    const [first, second] = await fill('next__two');
    await page.goto(`${service.url}/requests?status=yours&tool=next__two`);
    await page.keyboard.press('j');
    await page.keyboard.press('o');
    await isAt(first);
    const forms = page.locator('form[action^="/requests/"]');
    const actions = await forms.evaluateAll((all: HTMLFormElement[]) =>
      all.map(({ action }) => new URL(action).searchParams.get('from')),
    );
    expect(new Set(actions)).toEqual(new Set(['status=yours&tool=next__two']));
    await decide('Approve');
    await page.getByText('You approved this').waitFor();
    await isAt(first);
    const next = link(/^Next: next__two/);
    expect(await page.locator('.next-request').innerText()).toMatch(/path "\/srv\/1".*\(1 of 3\)$/s);
    await next.click();
    await isAt(second);
    await page.getByText('1 of 3', { exact: true }).waitFor();
  });

  it('takes a decision that can be undone along to the next page, which sends it when its time is over', async () => {
    const [first, second] = await fill('next__three');
    await page.goto(`${service.url}/requests?status=yours&tool=next__three`);
    await page.locator(`[data-request="${first?.id}"] .row-title`).click();
    await page.getByLabel('Reason', { exact: true }).fill('I looked.');
    await decide('Approve');
    await page.locator('.undo').getByRole('link', { name: 'Next ›' }).click();
    await isAt(second);
    await page
      .locator('.undo')
      .getByText(/^You approve this \(next__three\) in \d s\.$/)
      .waitFor();
    await page.locator('.undo').getByText('Done: You approve this (next__three).').waitFor();
    expect(await statusOf(first)).toBe('approved');
    expect(await statusOf(second)).toBe('pending');
    const { rows } = await service.database.pool.query(
      'SELECT reason FROM approvals.vote WHERE access_request_id = $1',
      [first?.id],
    );
    expect(rows).toEqual([{ reason: 'I looked.' }]);
  });

  it('can be undone on the next page, where nothing is sent and the text of the decision is kept', async () => {
    const [first, second] = await fill('next__four');
    await page.goto(`${service.url}/requests?status=yours&tool=next__four`);
    await page.locator(`[data-request="${first?.id}"] .row-title`).click();
    await page.getByLabel('Reason', { exact: true }).fill('Not now.');
    await decide('Deny');
    await page.keyboard.press('j');
    await isAt(second);
    await waiting().waitFor();
    await page.keyboard.press('z');
    await page.locator('.undo').getByText('Undone. Nothing was sent.').waitFor();
    await link('Open it again').click();
    await isAt(first);
    expect(await page.getByLabel('Reason', { exact: true }).inputValue()).toBe('Not now.');
    expect(await statusOf(first)).toBe('pending');
  });

  it('is sent by a second decision on the next page, which can be undone for itself', async () => {
    const [first, second] = await fill('next__five');
    await page.goto(`${service.url}/requests?status=yours&tool=next__five`);
    await page.locator(`[data-request="${first?.id}"] .row-title`).click();
    await decide('Approve');
    await page.keyboard.press('j');
    await isAt(second);
    await waiting().waitFor();
    await button('Deny').click();
    await waitFor(async () => (await statusOf(first)) === 'approved');
    await page
      .locator('.undo')
      .getByText(/^You deny this in \d s\.$/)
      .waitFor();
    expect(await statusOf(second)).toBe('pending');
    await button('Undo').click();
    expect(await statusOf(second)).toBe('pending');
  });

  it('is sent when the next page is closed, and says there if it did not count', async () => {
    const [first, second, third] = await fill('next__six');
    await page.goto(`${service.url}/requests?status=yours&tool=next__six`);
    await page.locator(`[data-request="${first?.id}"] .row-title`).click();
    await decide('Approve');
    await page.keyboard.press('j');
    await isAt(second);
    await waiting().waitFor();
    const closed = page;
    page = await context.newPage();
    await closed.close({ runBeforeUnload: true });
    await waitFor(async () => (await statusOf(first)) === 'approved');
    await page.goto(`${service.url}/requests/${second?.id}?from=status%3Dyours%26tool%3Dnext__six`);
    await decide('Approve');
    await service.vote('bob', second as Opened, 'deny');
    await page.keyboard.press('j');
    await isAt(third);
    await page
      .locator('.undo')
      .getByText(/^Not counted: You approve this/)
      .waitFor();
    expect(await statusOf(second)).toBe('denied');
  });

  it.each([
    'nonsense',
    'status=odd',
    'cursor=x',
    `q=${'x'.repeat(5_000)}`,
    '//evil.example/',
    'status=yours&status=no',
  ])('shows a request although its address names no list: %s', async (from) => {
    const request = await service.open(call('next__seven', 'write'));
    const alice = await service.signIn('alice');
    const answer = await alice.go(`/requests/${request.id}?${new URLSearchParams({ from }).toString()}`);
    const text = await answer.text();
    expect(answer.status).toBe(200);
    expect(text).not.toContain('evil.example');
    expect(/class="crumb" href="([^"]+)"/.exec(text)?.[1]).toMatch(/^\/requests(\?|$)/);
  });
});
