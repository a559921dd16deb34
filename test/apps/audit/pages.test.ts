import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { launchBrowser } from '../../support/chromium.ts';
import { anOpening } from '../../support/gated-calls.ts';
import { startAuditApp, type AuditUnderTest } from './audit-app.ts';
import type { EndedCall } from './ended-calls.ts';

const TOOL = 'three__pages';
/** A generous limit, because the machine may stand still. */
const PATIENCE_MS = 240_000;

let audit: AuditUnderTest;
let browser: Browser;
let page: Page;
const calls: EndedCall[] = [];
beforeAll(async () => {
  audit = await startAuditApp();
  for (let i = 0; i < 5; i += 1) calls.push(await audit.calls.end('executed', anOpening({ tool: TOOL })));
  browser = await launchBrowser();
  page = await browser.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
});
afterAll(async () => {
  await browser?.close();
  await audit?.stop();
});

describe('the audit pages in a browser', () => {
  it('show the two columns of a record side by side, and one below the other on a phone', async () => {
    const columns = async (width: number) => {
      await page.setViewportSize({ width, height: 900 });
      await page.goto(`${audit.base}/outcome-records/by-task/${calls[0]?.taskId}`);
      const [left, right] = await Promise.all(
        [0, 1].map((at) => page.locator('.audit-detail > div').nth(at).boundingBox()),
      );
      if (!left || !right) throw new Error('a column is missing');
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
      return { left, right };
    };
    const wide = await columns(1280);
    expect(wide.right.x).toBeGreaterThanOrEqual(wide.left.x + wide.left.width);
    expect(wide.right.y).toBe(wide.left.y);
    const narrow = await columns(390);
    expect(narrow.right.y).toBeGreaterThanOrEqual(narrow.left.y + narrow.left.height);
  });

  it('reach every page of a list by links, forward and back, with the filters', async () => {
    const list = `${audit.base}/outcome-records?tool=${TOOL}&limit=2`;
    const link = (name: string) => page.getByRole('link', { name });
    const rows = () => page.locator('.row-title').evaluateAll((links) => links.map((one) => one.getAttribute('href')));
    const follow = async (name: string) => {
      const before = page.url();
      await link(name).click();
      await page.waitForURL(({ href }) => href !== before);
      return rows();
    };
    await page.goto(list);
    const there = [await rows(), await follow('Older records'), await follow('Older records')];
    expect(there.map((one) => one.length)).toEqual([2, 2, 1]);
    expect(new Set(there.flat()).size).toBe(calls.length);
    expect(await link('Older records').count()).toBe(0);
    const back = [await follow('Newer records'), await follow('Newer records')];
    expect(back).toEqual([there[1], there[0]]);
    expect(await link('Newer records').count()).toBe(0);
    await follow('Older records');
    expect(await follow('Newest records')).toEqual(there[0]);
    expect(page.url()).toBe(list);
  });
});
