import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { ApprovalsUnderTest } from '../support/approvals.ts';
import { launchBrowser } from '../support/chromium.ts';
import { waitFor } from '../support/wait-for.ts';
import { manyGranted } from './many-rows.ts';
import { call } from './two-browsers.ts';

const SCREENS = [
  ['a phone', { width: 390, height: 844 }],
  ['a desktop', { width: 1_280, height: 800 }],
  ['a desktop at 200 % zoom', { width: 640, height: 400 }],
] as const;

describe('what a person sees first', () => {
  const service = new ApprovalsUnderTest();
  let browser: Browser;
  let page: Page;
  beforeAll(async () => {
    await service.start({
      approvals: { templates: { either: { stages: [{ name: 'one', approvers: { people: ['alice'] } }] } } },
    });
    // Of several agents, one of which asks for much; no two are alike.
    for (let n = 0; n < 14; n += 1) {
      const agent = n < 11 ? 'busy-host' : `host-${n}`;
      await service.open(
        call(`sight__tool_${n}`, 'write', { agent, arguments: { path: `/srv/${n}`, text: 'line\n'.repeat(30) } }),
      );
    }
    // Above each list is a notice, too.
    await manyGranted(service, 3);
    browser = await launchBrowser();
    const context = await browser.newContext();
    await context.addCookies((await service.signIn('alice')).cookies());
    page = await context.newPage();
  });
  afterAll(async () => {
    await browser.close();
    await service.stop();
  });

  const show = async (size: { width: number; height: number }, path: string) => {
    await page.setViewportSize(size);
    await page.goto(`${service.url}${path}`);
  };

  it.each(SCREENS)('is the list, on %s', async (screen, size) => {
    await show(size, '/requests?status=yours');
    const seen = await page.evaluate(() => {
      const rows = [...document.querySelectorAll('li[data-request]')].map((one) => one.getBoundingClientRect());
      return {
        first: rows[0]?.top ?? Infinity,
        whole: rows.filter(({ top, bottom }) => top >= 0 && bottom <= innerHeight).length,
        heights: rows.map(({ height }) => height),
        width: document.documentElement.scrollWidth,
      };
    });
    expect(seen.first).toBeLessThan(300);
    expect(seen.whole).toBeGreaterThanOrEqual({ 'a phone': 9, 'a desktop': 10, 'a desktop at 200 % zoom': 2 }[screen]);
    expect(Math.min(...seen.heights)).toBeGreaterThanOrEqual(44);
    expect(Math.max(...seen.heights)).toBeLessThanOrEqual(56);
    expect(seen.width).toBeLessThanOrEqual(size.width);
  });

  it.each(SCREENS.slice(0, 2))(
    'is a short call with its decision, which can be pressed at once, on %s',
    async (_screen, size) => {
      const { id } = await service.open(call('sight__short', 'write', { arguments: { path: '/srv/a' } }));
      await show(size, `/requests/${id}`);
      for (const name of ['Approve', 'Deny']) {
        const button = page.getByRole('button', { name, exact: true });
        await waitFor(() => button.isEnabled());
        const { y = Infinity, height = 0 } = (await button.boundingBox()) ?? {};
        expect(y + height).toBeLessThanOrEqual(size.height);
      }
      expect(await page.evaluate('scrollY')).toBe(0);
      const order = await page.getByRole('heading', { level: 2 }).allInnerTexts();
      expect(order.slice(0, 3)).toEqual(['What will run', 'Your decision', 'Requester and reason']);
    },
  );

  it('keeps the decision in sight wherever the page is read, and covers no part of it that has the focus', async () => {
    const { id } = await service.open(call('sight__long', 'write', { arguments: { text: 'line\n'.repeat(300) } }));
    for (const [, size] of SCREENS) {
      await show(size, `/requests/${id}`);
      const bar = page.locator('.decide-bar');
      for (let stop = 0; stop < 25; stop += 1) {
        await page.keyboard.press('Tab');
        const covered = await page.evaluate(() => {
          const { top = Infinity } = document.querySelector('.decide-bar')?.getBoundingClientRect() ?? {};
          const focus = document.activeElement;
          return (
            focus?.closest('.decide-bar') === null && focus !== document.body && focus.getBoundingClientRect().top > top
          );
        });
        expect(covered).toBe(false);
      }
      const { y = Infinity, height = 0 } = (await bar.boundingBox()) ?? {};
      expect(y + height).toBeLessThanOrEqual(size.height);
    }
  });

  it('can be decided by keyboard, and without the script', async () => {
    const requests = [
      await service.open(call('sight__keys', 'write', { arguments: { text: 'line\n'.repeat(300) } })),
      await service.open(call('sight__plain', 'write', { arguments: { text: 'line\n'.repeat(300) } })),
    ];
    await show(SCREENS[1][1], `/requests/${requests[0]?.id}`);
    const unread = page.locator('[data-unread]');
    await waitFor(() => unread.isVisible());
    await waitFor(async () => {
      await page.keyboard.press('a');
      return (await page.getByText('You approved this').count()) > 0;
    });
    const context = await browser.newContext({ javaScriptEnabled: false, viewport: SCREENS[0][1] });
    await context.addCookies((await service.signIn('alice')).cookies());
    const plain = await context.newPage();
    await plain.goto(`${service.url}/requests/${requests[1]?.id}`);
    await plain.getByRole('button', { name: 'Deny', exact: true }).focus();
    await plain.keyboard.press('Enter');
    await plain.getByText('You denied this').waitFor();
    await context.close();
  });

  it('folds filters and agents, and unfolds the filters that narrow the list', async () => {
    await show(SCREENS[0][1], '/requests?status=yours');
    const tool = page.getByLabel('Tool', { exact: true });
    expect([await tool.isVisible(), await page.getByRole('link', { name: 'busy-host' }).isVisible()]).toEqual([
      false,
      false,
    ]);
    await page.getByText('By agent', { exact: true }).click();
    await page.getByRole('link', { name: 'busy-host' }).click();
    await page.waitForURL(/agent=busy-host/);
    expect(await tool.isVisible()).toBe(true);
    await page.getByText('Filters', { exact: true }).click();
    expect(await tool.isVisible()).toBe(false);
  });
});
