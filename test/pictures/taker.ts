import { join } from 'node:path';
import type { Browser, Locator } from 'playwright-core';
import { signPageIn } from '../support/page-sign-in.ts';

/** A common width, and a height that shows a request with its decision. */
const SCREEN = { width: 1280, height: 1400 };
/** Of pictures that show no button. */
const MAX_HEIGHT = 900;
const MARGIN = 24;

/** A person who is signed in to one of the sites, and takes pictures of it. */
export interface Taker {
  /** Opens a page of the site, and takes a picture. With a button: when it can be pressed, and down to it. */
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
  await signPageIn(page, site, name);
  const takeDownTo = async (last: Locator, picture: string, maxHeight = MAX_HEIGHT) => {
    const { y, height } = (await last.boundingBox()) ?? { y: 0, height: maxHeight };
    const clip = { x: 0, y: 0, width: SCREEN.width, height: Math.min(maxHeight, Math.ceil(y + height) + MARGIN) };
    await page.screenshot({ path: join(folder, `${picture}.png`), clip });
  };
  const takeHere = (picture: string) => takeDownTo(page.locator('main'), picture);
  return {
    takeHere,
    async take(path, picture, name) {
      await page.goto(`${site}${path}`);
      if (name === undefined) return takeHere(picture);
      const button = page.getByRole('button', { name, exact: true });
      await button.click({ trial: true });
      await takeDownTo(button, picture, SCREEN.height);
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
