import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import type { Browser, BrowserContext } from 'playwright-core';
import { startAudit } from '../../apps/audit/main.ts';
import type { Running } from '../../apps/shared/lifecycle.ts';
import { violationsIn } from '../support/accessibility.ts';
import { ApprovalsUnderTest } from '../support/approvals.ts';
import { launchBrowser } from '../support/chromium.ts';
import { SEALING_SECRETS } from '../support/gated-calls.ts';
import type { Situation } from '../support/situations.ts';
import { systemTime } from '../support/time.ts';
import { approvalsSituations, settings } from './approvals-situations.ts';
import { auditSituations } from './audit-situations.ts';

const WIDTHS = [1_280, 390] as const;
const THEMES = ['light', 'dark'] as const;

describe('every page in every state, in both themes and both widths', () => {
  const service = new ApprovalsUnderTest();
  let audit: Running;
  let browser: Browser;
  beforeAll(async () => {
    await service.start(settings);
    const secrets = { ...service.secrets, ...SEALING_SECRETS };
    const deps = { ...systemTime, log: pino({ level: 'silent' }), databaseUrl: service.database.url };
    audit = await startAudit(service.config, secrets, deps);
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser.close();
    await audit.stop();
    await service.stop();
  });

  const sites = [
    { site: 'the inbox', url: () => service.config.urls.approvals, situations: approvalsSituations(service) },
    { site: 'the audit pages', url: () => service.config.urls.audit, situations: auditSituations(service) },
  ];

  async function signedIn(url: string, name: string | undefined): Promise<BrowserContext> {
    const context = await browser.newContext();
    if (name === undefined) return context;
    const page = await context.newPage();
    await page.goto(`${url}/sign-in?returnTo=/healthz`);
    await page.locator(`button[value="${name}"]`).click();
    await page.waitForURL('**/healthz');
    await page.close();
    return context;
  }

  describe.each(sites)('of $site', ({ url, situations }) => {
    it.each(situations)('breaks no rule of accessibility: $name', async ({ as, prepare, arrive }: Situation) => {
      const context = await signedIn(url(), as);
      const page = await context.newPage();
      page.setDefaultTimeout(60_000);
      await page.goto(new URL(await prepare(), url()).href);
      await arrive?.(page);
      const found: Record<string, string[]> = {};
      for (const width of WIDTHS) {
        for (const colorScheme of THEMES) {
          await page.setViewportSize({ width, height: 900 });
          // Otherwise a colour is measured while it changes to the next theme's.
          await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
          const violations = await violationsIn(page);
          if (violations.length > 0) found[`${width} ${colorScheme}`] = violations;
        }
      }
      await context.close();
      expect(found).toEqual({});
    });
  });
});
