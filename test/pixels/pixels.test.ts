import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { launchBrowser } from '../support/chromium.ts';
import { ALL_LOOKS, testLineEnds } from './line-ends.ts';
import { runPixels } from './run-pixels.ts';

/** Fewer pairs than `npm run test:pixels` draws on every screen, and always the same. */
const PAIRS = 6;
/** A line of 390 px has 30 to 33 characters: these lengths have its end at each of them. */
const ONE_LINE = 34;
const screens = [
  { width: 390, theme: 'light' },
  { width: 1280, theme: 'dark' },
] as const;

describe('arguments, as an approver sees them', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser.close());

  // line-ends.long.ts draws every look at every width, longer texts, and tabs.
  testLineEnds({
    browser: () => browser,
    widths: [390],
    lengths: ONE_LINE,
    looks: ALL_LOOKS.filter(([name]) => ['exact, dense', 'readable'].includes(name)),
    withTabs: false,
  });

  it('differ wherever two calls do', async () => {
    const { alike, unsteady, pairs } = await runPixels({ pairs: PAIRS, seed: 'the suite', screens, browser });
    expect({ alike, unsteady, pairs }).toEqual({ alike: [], unsteady: 0, pairs: PAIRS });
  });
});
