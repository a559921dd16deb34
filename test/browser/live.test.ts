import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { waitFor } from '../support/wait-for.ts';
import { sentPreview, withPreview } from './preview-situations.ts';
import { call, of, row, TwoBrowsers } from './two-browsers.ts';

describe('the inbox in two browsers', () => {
  const browsers = new TwoBrowsers();
  const { as, pages, service } = browsers;
  beforeAll(() => {
    const timed = { ...of(['alice', 'bob'], 1, { withinSeconds: 600 }), maxExtensionSeconds: 1_200 };
    const templates = { either: of(['alice', 'bob']), both: of(['alice', 'bob'], 2), timed };
    return browsers.start({ templates, requestTtlSeconds: 3_600 });
  });
  afterAll(() => browsers.stop());

  const approve = async (page: Page) => {
    const button = page.getByRole('button', { name: 'Approve', exact: true });
    await button.scrollIntoViewIfNeeded();
    await button.click();
    await page.getByText('You approved this').waitFor();
  };

  it('shows a new request in an open list, counts it in the title, and keeps the selection and the focus', async () => {
    const first = await service.open(call('live__one', 'read'));
    const page = await as('alice', '/requests?status=yours');
    await row(page, first).getByRole('checkbox').check();
    await row(page, first).getByRole('link').focus();
    const second = await service.open(call('live__two', 'read'));
    await row(page, second).waitFor();
    expect(await page.title()).toMatch(/^\(2\) Yours to decide/);
    expect(await row(page, first).getByRole('checkbox').isChecked()).toBe(true);
    expect(await page.evaluate('document.activeElement.closest("[data-request]").dataset.request')).toBe(first.id);
  });

  it('marks a request that another approver looks at, in the list and on its page', async () => {
    const request = await service.open(call('look__one', 'read', { claims: { template: 'both' } }));
    const page = await as('alice', '/requests?status=yours');
    await row(page, request).waitFor();
    await as('bob', `/requests/${request.id}`);
    await row(page, request).getByText('opened by bob').waitFor();
    await as('alice', `/requests/${request.id}`);
    await page.getByText('bob opened this page').waitFor();
    expect(await page.getByText('alice opened this page').count()).toBe(0);
    await pages['bob']?.getByText('alice opened this page').waitFor();
    await approve(await as('bob', `/requests/${request.id}`));
    await page.getByText('bob opened this page').waitFor({ state: 'detached' });
  });

  it('lets a request that another approver decides fade, with the name of that person', async () => {
    const request = await service.open(call('fade__one', 'read'));
    const page = await as('alice', '/requests?status=yours');
    await row(page, request).waitFor();
    // The page itself reads the row, which goes away after seconds.
    await page.evaluate((gone) => {
      const read = () => {
        const fading = document.querySelector<HTMLElement>(gone);
        if (fading !== null) Object.assign(window, { faded: fading.innerText });
      };
      new MutationObserver(read).observe(document.body, { subtree: true, childList: true, attributes: true });
    }, `[data-gone][data-request="${request.id}"]`);
    await approve(await as('bob', `/requests/${request.id}`));
    expect(await waitFor(() => page.evaluate('window.faded'))).toMatch(/approved by bob/);
  });

  it('follows the votes of others on the page of a request', async () => {
    const request = await service.open(call('page__one', 'read', { claims: { template: 'both' } }));
    const page = await as('alice', `/requests/${request.id}`);
    await page.getByText('0 of 2').waitFor();
    await service.vote('bob', request, 'approve');
    await page.getByText('1 of 2').waitFor();
    await approve(page);
    await page.getByText('The gateway has not fetched the approval yet.').waitFor();
    expect((await service.status(request.id)).body.task.status).toBe('approved');
    await page.getByText('The gateway fetched the approval').waitFor();
  });

  it('shows a preview that another approver took, beside typed text, and sends with the decision which one it shows', async () => {
    const body = withPreview('a', 'as it was');
    const request = await service.open(call('page__two', 'read', { body, claims: { template: 'both' } }));
    const page = await as('alice', `/requests/${request.id}`);
    await page.getByLabel('Reason', { exact: true }).fill('I looked at it.');
    service.previewAnswer = { status: 200, body: { preview: sentPreview('b', 'as it is now') } };
    const asked = service.asPerson('bob', `/requests/${request.id}/preview`, { method: 'POST', body: '{}' });
    expect((await asked).status).toBe(200);
    await page.getByText('as it is now').waitFor();
    await approve(page);
    const votes = 'SELECT preview_digest AS seen, reason FROM approvals.vote WHERE access_request_id = $1';
    expect((await service.database.pool.query(votes, [request.id])).rows).toEqual([
      { seen: `sha-256:${'b'.repeat(64)}`, reason: 'I looked at it.' },
    ]);
  });

  it('follows more time for the stage, and refuses a form that saw the earlier end', async () => {
    const request = await service.open(call('time__one', 'read', { claims: { template: 'timed' } }));
    const [first, second] = [await as('alice', `/requests/${request.id}`), await as('bob', `/requests/${request.id}`)];
    for (const page of [first, second]) {
      await page.getByText('Give more time').click();
      await page.getByLabel('Reason for more time').fill('lunch');
      await page.getByLabel('Minutes more').fill('10');
    }
    await first.getByRole('button', { name: 'Move the end' }).click();
    for (const page of [first, second]) await page.getByText('alice moved the end to').waitFor();
    // The page of the other approver marks the deadline that has moved under their eyes.
    await second.locator('.deadline.moved').getByText('alice moved it from').waitFor();
    await second.getByRole('button', { name: 'Move the end' }).click();
    await second.getByText('The end of the stage has moved since').waitFor();
    expect(await second.getByLabel('Reason for more time').inputValue()).toBe('lunch');
    expect(await second.getByLabel('Minutes more').getAttribute('max')).toBe('10');
  });

  it('says the deadline of the open stage in the zone of its reader, in UTC as the title, and counts down to it', async () => {
    const request = await service.open(call('time__two', 'read', { claims: { template: 'timed' } }));
    const page = await as('alice', `/requests/${request.id}`);
    const deadline = page.locator('.deadline');
    await deadline.getByText(/^in 9 min \d+ s$/).waitFor();
    const shown = await deadline.locator('time[data-local]').evaluate((one: HTMLTimeElement) => {
      const at = new Date(one.dateTime);
      const zone = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', timeZoneName: 'short' });
      return { words: one.innerText, local: zone.format(at), utc: one.title };
    });
    expect(shown.words.endsWith(shown.local)).toBe(true);
    expect(shown.utc).toMatch(/^\d+ \w+ \d{4}, \d\d:\d\d UTC$/);
    const abroad = await browsers.abroad('Asia/Kathmandu', `/requests/${request.id}`);
    await abroad
      .locator('.deadline')
      .getByText(/\d\d:\d\d GMT\+5:45$/)
      .waitFor();
    await abroad.context().close();
  });

  it('takes the decision away when another approver has made it, and leaves typed text where it is', async () => {
    const [plain, typed] = [
      await service.open(call('away__one', 'read')),
      await service.open(call('away__two', 'read')),
    ];
    const page = await as('alice', `/requests/${plain.id}`);
    await service.vote('bob', plain, 'deny');
    await page.getByText('This request has ended').waitFor();
    expect(await page.getByRole('button', { name: 'Approve' }).count()).toBe(0);
    await as('alice', `/requests/${typed.id}`);
    await page.getByLabel('Reason', { exact: true }).fill('I called the owner.');
    await service.vote('bob', typed, 'deny');
    await page.getByText('This request has ended').waitFor();
    expect(await page.getByLabel('Reason', { exact: true }).inputValue()).toBe('I called the owner.');
  });

  it('follows in more pages of one browser than the browser keeps connections to a site', async () => {
    const first = await as('alice', '/requests?status=yours');
    const others: Page[] = [];
    // With the first one more than the six that Chromium keeps.
    for (let opened = 0; opened < 6; opened += 1) others.push(await first.context().newPage());
    for (const page of others) await page.goto(`${service.url}/requests?status=yours`);
    const request = await service.open(call('many__one', 'read'));
    for (const page of [first, ...others]) await row(page, request).waitFor();
    // Another page listens when the one that did is closed.
    await first.goto('about:blank');
    const next = await service.open(call('many__two', 'read'));
    for (const page of others) await row(page, next).waitFor();
    for (const page of others) await page.close();
  });

  it('goes on after the service was restarted', async () => {
    const page = await as('alice', '/requests?status=yours');
    await service.restart();
    const request = await service.open(call('again__one', 'read'));
    await row(page, request).waitFor();
  });

  it('is used by keyboard alone: search, move, select, decide together', async () => {
    for (const n of [1, 2]) await service.open(call('keys__one', 'write', { arguments: { n, note: 'keyboard' } }));
    const page = await as('alice', '/requests?status=yours');
    await page.keyboard.press('/');
    await page.keyboard.type('keyboard');
    await page.keyboard.press('Enter');
    await page.waitForURL(/q=keyboard/);
    for (const key of ['j', 'x', 'j', 'x', 'b']) await page.keyboard.press(key);
    await page.getByRole('heading', { name: 'Decide 2 requests' }).waitFor();
    await page.getByRole('button', { name: 'Deny all 2' }).scrollIntoViewIfNeeded();
    await page.locator('button.deny:not([disabled])').waitFor();
    await page.keyboard.press('d');
    await page.getByRole('heading', { name: 'You denied 2 requests' }).waitFor();
  });

  it('approves what deletes by a second press only, and does nothing while keys are off', async () => {
    const request = await service.open(call('keys__two', 'delete'));
    const page = await as('alice', `/requests/${request.id}`);
    const button = page.locator('button.approve:not([disabled])');
    await page.locator('button.approve').scrollIntoViewIfNeeded();
    await button.waitFor();
    await page.keyboard.press('?');
    await page.getByLabel('Keys work in this browser').uncheck();
    await page.keyboard.press('Escape');
    for (const key of ['a', 'a', 'd', 'u']) await page.keyboard.press(key);
    expect(page.url()).toContain(request.id);
    await page.keyboard.press('?');
    await page.getByLabel('Keys work in this browser').check();
    await page.keyboard.press('Escape');
    await page.keyboard.press('a');
    await page.getByText('Press the key again to approve it').waitFor();
    expect((await service.status(request.id)).body.task.status).toBe('pending');
    await page.keyboard.press('a');
    await page.getByText('You approved this').waitFor();
  });

  it('types letters into a field, and not as keys', async () => {
    const request = await service.open(call('keys__three', 'read'));
    const page = await as('alice', `/requests/${request.id}`);
    await page.getByLabel('Reason', { exact: true }).focus();
    await page.keyboard.type('a day, and up');
    expect(await page.getByLabel('Reason', { exact: true }).inputValue()).toBe('a day, and up');
    expect((await service.status(request.id)).body.task.status).toBe('pending');
  });
});
