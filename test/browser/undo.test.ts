import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { ApprovalsUnderTest } from '../support/approvals.ts';
import { launchBrowser } from '../support/chromium.ts';
import { waitFor } from '../support/wait-for.ts';
import { bringSignIn, signPageIn } from '../support/page-sign-in.ts';
import { signOut } from './signing-out.ts';
import { sentPreview, withPreview } from './preview-situations.ts';

const TYPED = 'I called the owner.';

describe('a decision in its first five seconds', () => {
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

  type Opened = Awaited<ReturnType<typeof open>>;
  const open = () =>
    service.open({ tool: 'undo__one', claims: { template: 'either' }, body: withPreview('a', 'as it was') });
  const statusOf = async ({ id }: Opened) => (await service.status(id)).body.task.status as string;
  const button = (name: string) => page.getByRole('button', { name, exact: true });
  /** Opens a request, types a reason, presses the button, and waits for the bar. */
  async function decide(verdict: 'Approve' | 'Deny'): Promise<Opened> {
    const request = await open();
    await page.goto(`${service.url}/requests/${request.id}`);
    await page.getByLabel('Reason', { exact: true }).fill(TYPED);
    await button(verdict).scrollIntoViewIfNeeded();
    await button(verdict).click();
    // A machine that stands still shows a number for less than a second.
    await page
      .getByText(verdict === 'Approve' ? /^You approve this in \d s\.$/ : /^You deny this in \d s\.$/)
      .waitFor();
    return request;
  }
  const votes = async ({ id }: Opened) => {
    const text = 'SELECT verdict, reason FROM approvals.vote WHERE access_request_id = $1';
    return (await service.database.pool.query(text, [id])).rows as object[];
  };

  it('waits, and is sent with its text and the preview that its person saw when they are over, once', async () => {
    const request = await decide('Approve');
    const later = JSON.stringify(sentPreview('b', 'as it is now'));
    const keep = "SELECT approvals.keep_preview($1, $2, 'i', 'bob', NULL)";
    await service.database.pool.query(keep, [request.id, later]);
    // Neither a second press nor its key sends it.
    await button('Approve').evaluate((one: HTMLButtonElement) => one.click());
    await page.keyboard.press('a');
    expect(await statusOf(request)).toBe('pending');
    await page.getByText('You approved this').waitFor();
    expect(await votes(request)).toEqual([{ verdict: 'approve', reason: TYPED }]);
    const seen = 'SELECT preview_digest AS seen FROM approvals.vote WHERE access_request_id = $1';
    expect((await service.database.pool.query(seen, [request.id])).rows).toEqual([
      { seen: `sha-256:${'a'.repeat(64)}` },
    ]);
  });

  it('is taken back by the button, z and Escape, keeps its text, and can be made again', async () => {
    const request = await decide('Deny');
    const ways = [() => button('Undo').click(), () => page.keyboard.press('z'), () => page.keyboard.press('Escape')];
    for (const takeBack of ways) {
      await page.getByRole('status').getByText('Press Escape to undo it').waitFor();
      await takeBack();
      await page.getByText('Undone. Nothing was sent.').waitFor();
      expect(await page.getByLabel('Reason', { exact: true }).inputValue()).toBe(TYPED);
      expect(await statusOf(request)).toBe('pending');
      await button('Deny').click();
    }
    await button('Undo').click();
    await button('Approve').click();
    await page.getByText('You approved this').waitFor();
    // More than five seconds have passed since the denials were taken back.
    expect(await votes(request)).toEqual([{ verdict: 'approve', reason: TYPED }]);
  });

  it('is sent by leaving the page', async () => {
    const request = await decide('Deny');
    await page.goto(`${service.url}/grants`);
    await waitFor(async () => (await statusOf(request)) === 'denied');
    expect(await votes(request)).toEqual([{ verdict: 'deny', reason: TYPED }]);
  });

  it('is sent by closing the page', async () => {
    const request = await decide('Approve');
    const closed = page;
    page = await context.newPage();
    await closed.close({ runBeforeUnload: true });
    await waitFor(async () => (await statusOf(request)) === 'approved');
  });

  it('is sent when the page is put away, which then shows what became of it', async () => {
    const request = await decide('Approve');
    await page.evaluate(() => {
      Object.defineProperty(document, 'hidden', { value: true });
      document.dispatchEvent(new Event('visibilitychange'));
    });
    await page.getByText('You approved this').waitFor();
    expect(await statusOf(request)).toBe('approved');
  });

  it('is sent before another form of the page', async () => {
    const request = await decide('Approve');
    await signOut(page);
    expect(await statusOf(request)).toBe('approved');
    await signPageIn(page, service.url, 'alice');
  });

  it('is refused if another approver was faster, and keeps its text', async () => {
    const request = await decide('Approve');
    await service.vote('bob', request, 'deny');
    // The page follows the other decision, and the form that waits stays.
    await page.getByText('This request has ended').first().waitFor();
    await page.getByLabel('Your text, which was not recorded').waitFor();
    expect(await page.getByLabel('Your text, which was not recorded').inputValue()).toBe(TYPED);
  });

  it('is not sent while the service does not answer, and its form stays', async () => {
    const request = await decide('Approve');
    await context.setOffline(true);
    await page.getByRole('status').getByText('The service does not answer').waitFor();
    expect(await page.getByLabel('Reason', { exact: true }).inputValue()).toBe(TYPED);
    await context.setOffline(false);
    expect(await statusOf(request)).toBe('pending');
    await button('Approve').click();
    await page.getByText('You approved this').waitFor();
  });

  it('is sent at once in a browser whose person has switched the pause off', async () => {
    await page.goto(`${service.url}/requests`);
    await page.keyboard.press('?');
    await page.getByLabel('Decisions are sent at once').check();
    await page.keyboard.press('Escape');
    const request = await open();
    await page.goto(`${service.url}/requests/${request.id}`);
    await button('Deny').scrollIntoViewIfNeeded();
    await button('Deny').click();
    await page.getByText('You denied this').waitFor();
    expect(await statusOf(request)).toBe('denied');
  });
});
