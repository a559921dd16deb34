import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { startAuditApp, type AuditUnderTest } from '../apps/audit/audit-app.ts';
import { ApprovalsUnderTest } from '../support/approvals.ts';
import { launchBrowser } from '../support/chromium.ts';

/** The size of a sheet of A4, in pixels. */
const SHEET = 1_123;

/** The height of an element's content, and of its visible part. */
const heights = (page: Page, selector: string) =>
  page
    .locator(selector)
    .first()
    .evaluate((element: { scrollHeight: number; clientHeight: number }) => ({
      whole: element.scrollHeight,
      seen: element.clientHeight,
    }));
/** Chromium writes the objects of a PDF, of which each sheet is one, as text. */
const sheetsOf = (pdf: Buffer) => pdf.toString('latin1').match(/\/Type \/Page\b/g)?.length ?? 0;

describe('on paper', () => {
  const service = new ApprovalsUnderTest();
  let audit: AuditUnderTest;
  let browser: Browser;
  beforeAll(async () => {
    await service.start();
    audit = await startAuditApp();
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser.close();
    await audit.stop();
    await service.stop();
  });

  it('the arguments of a request are complete', async () => {
    const { id } = await service.open({ arguments: { content: 'one line of many\n'.repeat(700), path: '/srv/a' } });
    const alice = await service.signIn('alice');
    const context = await browser.newContext();
    await context.addCookies([
      { name: 'countersign_approvals', value: alice.cookie('countersign_approvals') ?? '', url: service.url },
    ]);
    const page = await context.newPage();
    await page.goto(`${service.url}/requests/${id}`);
    const onScreen = await heights(page, '.json');
    expect(onScreen.whole).toBeGreaterThan(3 * onScreen.seen);
    await page.emulateMedia({ media: 'print' });
    const onPaper = await heights(page, '.json');
    expect(onPaper.seen).toBe(onPaper.whole);
    expect(onPaper.seen).toBeGreaterThan(3 * SHEET);
    expect(sheetsOf(await page.pdf())).toBeGreaterThan(4);
  });

  it.each([true, false])('the sealed text of a record is unfolded, with scripts: %p', async (javaScriptEnabled) => {
    const { taskId } = await audit.calls.end('executed');
    const context = await browser.newContext({ javaScriptEnabled });
    const page = await context.newPage();
    await page.goto(`${audit.base}/outcome-records/by-task/${taskId}`, { waitUntil: 'load' });
    const sealed = page.locator('details .json');
    expect(await sealed.isVisible()).toBe(false);
    await page.emulateMedia({ media: 'print' });
    expect(await sealed.isVisible()).toBe(true);
    const onPaper = await heights(page, 'details .json');
    expect(onPaper).toEqual({ whole: onPaper.seen, seen: onPaper.whole });
    expect(onPaper.seen).toBeGreaterThan(100);
    await page.emulateMedia({ media: 'screen' });
    await page.pdf();
    expect(await page.locator('details[open]').count()).toBe(0);
  });
});
