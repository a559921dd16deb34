import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { startAuditApp, type AuditUnderTest } from '../apps/audit/audit-app.ts';
import { launchBrowser } from '../support/chromium.ts';
import { heightsOf } from '../support/heights.ts';

describe('on paper', () => {
  let audit: AuditUnderTest;
  let browser: Browser;
  beforeAll(async () => {
    audit = await startAuditApp();
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser.close();
    await audit.stop();
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
    const onPaper = await heightsOf(page, 'details .json');
    expect(onPaper).toEqual({ whole: onPaper.seen, seen: onPaper.whole });
    expect(onPaper.seen).toBeGreaterThan(100);
    await page.emulateMedia({ media: 'screen' });
    await page.pdf();
    expect(await page.locator('details[open]').count()).toBe(0);
  });
});
