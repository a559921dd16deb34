import { join } from 'node:path';
import type { Browser } from 'playwright-core';

/** The size of pictures in documents: a common width, and as much of the page as fits on a screen. */
const SCREEN = { width: 1280, height: 900 };
const MARGIN = 24;

/** A person who is signed in to one of the sites, and takes pictures of it. */
export interface Taker {
  /** Opens a page of the site, waits until the button of that name can be pressed, and takes a picture. */
  take(path: string, picture: string, button?: string): Promise<void>;
  /** Takes a picture of the page that is open. */
  takeHere(picture: string): Promise<void>;
  /** Presses the button of that name, and waits for the next page. */
  press(name: string): Promise<void>;
  /** Follows the first link that fits, and waits for the next page. */
  follow(selector: string): Promise<void>;
}

/** Signs a person in to a site, in a browser without any earlier sign-in. Pictures go to `folder`, as `<picture>.png`. */
export async function taker(
  browser: Browser,
  folder: string,
  { site, name }: { readonly site: string; readonly name: string },
): Promise<Taker> {
  const context = await browser.newContext({ viewport: SCREEN, colorScheme: 'light', reducedMotion: 'reduce' });
  const page = await context.newPage();
  await page.goto(`${site}/sign-in?returnTo=/healthz`);
  await page.locator(`button[value="${name}"]`).click();
  await page.waitForURL('**/healthz');
  const takeHere = async (picture: string) => {
    const content = await page.locator('main').boundingBox();
    const height = Math.min(SCREEN.height, Math.ceil((content?.y ?? 0) + (content?.height ?? SCREEN.height)) + MARGIN);
    await page.screenshot({ path: join(folder, `${picture}.png`), clip: { x: 0, y: 0, width: SCREEN.width, height } });
  };
  return {
    takeHere,
    async take(path, picture, button) {
      await page.goto(`${site}${path}`);
      if (button !== undefined) await page.getByRole('button', { name: button, exact: true }).click({ trial: true });
      await takeHere(picture);
    },
    async press(button) {
      await page.getByRole('button', { name: button, exact: true }).click();
      await page.waitForLoadState();
    },
    async follow(selector) {
      await page.locator(selector).first().click();
      await page.waitForLoadState();
    },
  };
}
