import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import { launchBrowser } from '../../support/chromium.ts';
import { ofPerson } from '../../support/submissions.ts';

const REASON = 'The change window is open until noon.\nI called the owner.';

describe('text that a person typed before the session ended', () => {
  const service = new ApprovalsUnderTest();
  let browser!: Browser;
  beforeAll(async () => {
    const stage = { name: 'confirmation', approvers: { requester: true } };
    await service.start({ approvals: { templates: { own: { stages: [stage] } } } });
    browser = await launchBrowser();
  });
  // A page in the background still takes its part of the processor.
  afterEach(async () => {
    for (const context of browser.contexts()) await context.close();
  });
  afterAll(async () => {
    await browser.close();
    await service.stop();
  });

  async function arrive(page: Page, name: string, path: string): Promise<void> {
    page.setDefaultTimeout(60_000);
    await page.goto(`${service.url}${path}`);
    await page.getByRole('button', { name: new RegExp(name, 'i') }).click();
    await page.waitForURL(`${service.url}${path}`);
  }
  const endSessions = () => service.database.pool.query('DELETE FROM approvals.session');
  const statusOf = async (id: string) => (await service.status(id)).body.task.status as string;
  const reasonOf = (page: Page, form = '/votes') => page.locator(`form[action$="${form}"] textarea[name="reason"]`);
  const opened = async (): Promise<{ context: BrowserContext; page: Page; id: string; path: string }> => {
    const { id } = await service.open();
    const context = await browser.newContext();
    const path = `/requests/${id}`;
    await context.addCookies((await service.signIn('alice')).cookies());
    const page = await context.newPage();
    page.setDefaultTimeout(60_000);
    await page.goto(`${service.url}${path}`);
    return { context, page, id, path };
  };

  it('is restored after the sign-in at the same request, without a decision', async () => {
    const { page, id, path } = await opened();
    const violations: string[] = [];
    page.on(
      'console',
      (message) => void (/Content.Security.Policy/i.test(message.text()) && violations.push(message.text())),
    );
    await reasonOf(page).fill(REASON);
    await endSessions();
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByRole('heading', { name: 'You are not signed in' }).waitFor();
    expect(await statusOf(id)).toBe('pending');
    await page.getByRole('link', { name: 'Sign in' }).click();
    await page.getByRole('button', { name: /alice/i }).click();
    await page.waitForURL(`${service.url}${path}`);
    expect(await reasonOf(page).inputValue()).toBe(REASON);
    expect(await statusOf(id)).toBe('pending');
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByText('You approved this').waitFor();
    expect(await page.getByText('I called the owner.').count()).toBe(1);
    expect(await page.evaluate('sessionStorage.getItem("drafts")')).toBe('{}');
    expect(violations).toEqual([]);
  });

  it('is restored after the sign-in with which a requester shows that it is not the agent', async () => {
    const own = ofPerson(service.config.urls.issuer, { person: 'alice', agent: 'a-host' });
    const { id } = await service.open({ ...own, claims: { template: 'own' } });
    const page = await (await browser.newContext()).newPage();
    await arrive(page, 'alice', `/requests/${id}`);
    await page.getByRole('heading', { name: 'You confirm what your own agent wants to do' }).waitFor();
    await reasonOf(page).fill(REASON);
    await service.database.pool.query(
      `UPDATE approvals.session SET sess = jsonb_set(sess::jsonb, '{person,signedInAt}', '1')::json`,
    );
    // The page was opened in time, and the decision comes late: it is refused, and the text stays.
    await page.getByRole('button', { name: 'Confirm and run' }).click();
    await page.getByText('Sign in again first').waitFor();
    expect(await statusOf(id)).toBe('pending');
    await page.getByRole('link', { name: 'Sign in again' }).click();
    await page.getByRole('button', { name: /alice/i }).click();
    await page.waitForURL(`${service.url}/requests/${id}`);
    expect(await reasonOf(page).inputValue()).toBe(REASON);
    expect(await statusOf(id)).toBe('pending');
    await page.getByRole('button', { name: 'Confirm and run' }).click();
    await page.getByText('You confirmed this').waitFor();
    expect(await statusOf(id)).toBe('approved');
  });

  it('is restored after a reload, separately for each form', async () => {
    const { page, path } = await opened();
    await reasonOf(page).fill('for the vote');
    await reasonOf(page, '/cancel').fill('for the end');
    await page.reload();
    expect([await reasonOf(page).inputValue(), await reasonOf(page, '/cancel').inputValue()]).toEqual([
      'for the vote',
      'for the end',
    ]);
    await endSessions();
    await page.goto(`${service.url}${path}`);
    await page.getByRole('button', { name: /alice/i }).click();
    await page.waitForURL(`${service.url}${path}`);
    expect(await reasonOf(page).inputValue()).toBe('for the vote');
  });

  it('is restored when the form was refused for another reason', async () => {
    const { page, path } = await opened();
    await reasonOf(page).fill(REASON);
    await page
      .locator('form[action$="/votes"] [name="csrfToken"]')
      .evaluate((field) => field.setAttribute('value', 'stale'));
    await page.getByRole('button', { name: 'Deny' }).click();
    await page.getByRole('heading', { name: 'This form is no longer valid' }).waitFor();
    await page.goto(`${service.url}${path}`);
    expect(await reasonOf(page).inputValue()).toBe(REASON);
  });

  it('is not shown to the next person at the same machine, and a sign-out deletes it', async () => {
    const { page, path } = await opened();
    await reasonOf(page).fill(REASON);
    await endSessions();
    await page.goto(`${service.url}${path}`);
    await page.getByRole('button', { name: /bob/i }).click();
    await page.waitForURL(`${service.url}${path}`);
    expect(await reasonOf(page).inputValue()).toBe('');
    await page.getByRole('button', { name: 'Sign out' }).click();
    // At the issuer, to which the page redirects.
    await page.waitForURL(`${service.config.urls.issuer}/**`);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.waitForURL(`${service.url}/signed-out`);
    await page.getByRole('heading', { name: 'You are signed out' }).waitFor();
    expect(await page.evaluate('sessionStorage.getItem("drafts")')).toBe('{}');
  });

  it('is restored in two tabs that sign in at the same time', async () => {
    const requests = [await service.open(), await service.open()];
    const context = await browser.newContext();
    const tabs = await Promise.all(requests.map(() => context.newPage()));
    for (const [index, tab] of tabs.entries()) {
      tab.setDefaultTimeout(60_000);
      await tab.goto(`${service.url}/requests/${requests[index]?.id}`);
    }
    for (const tab of tabs) await tab.getByRole('button', { name: /alice/i }).click();
    for (const [index, tab] of tabs.entries()) {
      await tab.waitForURL(`${service.url}/requests/${requests[index]?.id}`);
      await tab.getByRole('button', { name: 'Deny' }).click();
      await tab.getByText('You denied this').waitFor();
    }
  });
});
