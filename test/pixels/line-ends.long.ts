import { afterAll, beforeAll, describe } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { launchBrowser } from '../support/chromium.ts';
import { WIDTHS } from './drawing.tsx';
import { testLineEnds } from './line-ends.ts';

describe('arguments, as an approver sees them', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser.close());

  testLineEnds({ browser: () => browser, widths: WIDTHS });
});
