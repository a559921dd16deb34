import type { Page } from 'playwright-core';

/** Signs a person of the embedded issuer in to a site, in a browser. The page then shows little and follows nothing. */
export async function signPageIn(page: Page, site: string, name: string): Promise<void> {
  await page.goto(`${site}/sign-in?returnTo=/healthz`);
  await page.locator(`button[value="${name}"]`).click();
  await page.waitForURL('**/healthz');
}
