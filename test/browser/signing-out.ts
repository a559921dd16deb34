import type { Page } from 'playwright-core';

/** To the issuer, which asks whether to end its session as well. The page of this site redirects there at once. */
export async function signOutHere(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByText('You are still signed in at the identity provider').waitFor();
}

/** At the issuer as well. */
export async function signOut(page: Page): Promise<void> {
  await signOutHere(page);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.waitForURL('**/signed-out');
}
