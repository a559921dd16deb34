import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import { launchBrowser } from '../../support/chromium.ts';
import { ofPerson } from '../../support/submissions.ts';

const REASON = 'The change window is open until noon.\nI called the owner.';

describe('text that a person typed before the session ended', () => {
  const service = new ApprovalsUnderTest();
  let browser!: Browser;
  let page: Page;
  beforeAll(async () => {
    const stage = { name: 'confirmation', approvers: { requester: true } };
    await service.start({ approvals: { templates: { own: { stages: [stage] } } } });
    browser = await launchBrowser();
    page = await (await browser.newContext()).newPage();
  });
  // All tests share one page: a new one costs a browser as much as five loads. It forgets who was there.
  afterEach(async () => {
    await page.evaluate('sessionStorage.clear()');
    await page.goto(`${service.url}/healthz`);
    await page.context().clearCookies();
  });
  afterAll(async () => {
    await browser.close();
    await service.stop();
  });

  async function arrive(name: string, path: string): Promise<void> {
    await page.goto(`${service.url}${path}`);
    await page.getByRole('button', { name: new RegExp(name, 'i') }).click();
    await page.waitForURL(`${service.url}${path}`);
  }
  const endSessions = () => service.database.pool.query('DELETE FROM approvals.session');
  const statusOf = async (id: string) => (await service.status(id)).body.task.status as string;
  const reasonOf = (form = '/votes') => page.locator(`form[action$="${form}"] textarea[name="reason"]`);
  const opened = async (): Promise<{ id: string; path: string }> => {
    const { id } = await service.open();
    const path = `/requests/${id}`;
    await page.context().addCookies((await service.signIn('alice')).cookies());
    await page.goto(`${service.url}${path}`);
    return { id, path };
  };

  it('is restored after the sign-in at the same request, without a decision', async () => {
    const { id, path } = await opened();
    const violations: string[] = [];
    page.on('console', (message) => {
      const text = message.text();
      // A notice that comes late has the page load itself again, which leads to the issuer by then.
      const isLed = text.includes('connect-src') && text.includes(service.config.urls.issuer);
      if (/Content.Security.Policy/i.test(text) && !isLed) violations.push(text);
    });
    await reasonOf().fill(REASON);
    await endSessions();
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByRole('heading', { name: 'You are not signed in' }).waitFor();
    expect(await statusOf(id)).toBe('pending');
    await page.getByRole('link', { name: 'Sign in' }).click();
    await page.getByRole('button', { name: /alice/i }).click();
    await page.waitForURL(`${service.url}${path}`);
    expect(await reasonOf().inputValue()).toBe(REASON);
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
    await arrive('alice', `/requests/${id}`);
    await page.getByRole('heading', { name: 'You confirm what your own agent wants to do' }).waitFor();
    await reasonOf().fill(REASON);
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
    expect(await reasonOf().inputValue()).toBe(REASON);
    expect(await statusOf(id)).toBe('pending');
    await page.getByRole('button', { name: 'Confirm and run' }).click();
    await page.getByText('You confirmed this').waitFor();
    expect(await statusOf(id)).toBe('approved');
  });

  it('is restored after a reload, separately for each form', async () => {
    const own = ofPerson(service.config.urls.issuer, { person: 'alice', agent: 'a-host' });
    const { id } = await service.open({ ...own, claims: { template: 'own' } });
    const path = `/requests/${id}`;
    await arrive('alice', path);
    await reasonOf().fill('for the vote');
    await reasonOf('/cancel').fill('for the end');
    await page.reload();
    expect([await reasonOf().inputValue(), await reasonOf('/cancel').inputValue()]).toEqual([
      'for the vote',
      'for the end',
    ]);
    await endSessions();
    await page.goto(`${service.url}${path}`);
    await page.getByRole('button', { name: /alice/i }).click();
    await page.waitForURL(`${service.url}${path}`);
    expect(await reasonOf().inputValue()).toBe('for the vote');
  });

  it('is restored when the form was refused for another reason', async () => {
    const { path } = await opened();
    await reasonOf().fill(REASON);
    await page
      .locator('form[action$="/votes"] [name="csrfToken"]')
      .evaluate((field) => field.setAttribute('value', 'stale'));
    await page.getByRole('button', { name: 'Deny' }).click();
    await page.getByRole('heading', { name: 'This form is no longer valid' }).waitFor();
    await page.goto(`${service.url}${path}`);
    expect(await reasonOf().inputValue()).toBe(REASON);
  });

  it('is not shown to the next person at the same machine, and a sign-out deletes it', async () => {
    const { path } = await opened();
    await reasonOf().fill(REASON);
    await endSessions();
    await page.goto(`${service.url}${path}`);
    await page.getByRole('button', { name: /bob/i }).click();
    await page.waitForURL(`${service.url}${path}`);
    expect(await reasonOf().inputValue()).toBe('');
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
    const tabs = [page, await page.context().newPage()];
    for (const [index, tab] of tabs.entries()) {
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
