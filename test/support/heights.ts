import type { Page } from 'playwright-core';

/** The height of an element's content, and of its visible part. */
export const heightsOf = (page: Page, selector: string): Promise<{ whole: number; seen: number }> =>
  page
    .locator(selector)
    .first()
    .evaluate(({ scrollHeight, clientHeight }) => ({ whole: scrollHeight, seen: clientHeight }));
