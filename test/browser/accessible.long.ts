import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { BrowserContext } from 'playwright-core';
import { violationsIn } from '../support/accessibility.ts';
import type { Situation } from '../support/situations.ts';
import { SitesUnderTest } from './sites.ts';
import { signPageIn } from '../support/page-sign-in.ts';

const WIDTHS = [1_280, 390] as const;
const THEMES = ['light', 'dark'] as const;

describe('every page in every state, in both themes and both widths', () => {
  const sites = new SitesUnderTest();
  beforeAll(() => sites.start());
  afterAll(() => sites.stop());

  async function signedIn(url: string, name: string | undefined): Promise<BrowserContext> {
    const context = await sites.browser.newContext();
    if (name === undefined) return context;
    const page = await context.newPage();
    await signPageIn(page, url, name);
    await page.close();
    return context;
  }

  describe.each(sites.all)('of $site', ({ url, situations }) => {
    it.each(situations)('breaks no rule of accessibility: $name', async ({ as, prepare, arrive }: Situation) => {
      const context = await signedIn(url(), as);
      const page = await context.newPage();
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
