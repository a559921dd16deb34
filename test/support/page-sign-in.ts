import type { BrowserContext, Page } from 'playwright-core';
import { signInTo } from './signing-in.ts';

/** Signs a person of the embedded issuer in to a site, in a browser. The page then shows little and follows nothing. */
export async function signPageIn(page: Page, site: string, name: string): Promise<void> {
  await page.goto(`${site}/sign-in?returnTo=/healthz`);
  await page.locator(`button[value="${name}"]`).click();
  await page.waitForURL('**/healthz');
}

/** Gives a browser the sessions of a person who has signed in, also at the issuer, without a load of pages. */
export async function bringSignIn(
  context: BrowserContext,
  at: { readonly site: string; readonly issuer: string },
  name: string,
): Promise<void> {
  const { site, atIssuer } = await signInTo(at, name);
  await context.addCookies([...site.cookies(), ...atIssuer.cookies()]);
}
