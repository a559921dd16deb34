import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { VIEWS } from '../../apps/approvals/inbox/arguments/arguments.tsx';
import type { JsonObject } from '../../workflows/domain/canonical-json.ts';
import { violationsIn } from '../support/accessibility.ts';
import { ApprovalsUnderTest } from '../support/approvals.ts';
import { launchBrowser } from '../support/chromium.ts';
import { heightsOf } from '../support/heights.ts';
import { readToTheEnd } from '../support/press.ts';
import { waitFor } from '../support/wait-for.ts';

/** The height of a sheet of A4, in pixels. */
const SHEET = 1_123;
/** Chromium writes the objects of a PDF, of which each sheet is one, as text. */
const sheetsOf = (pdf: Buffer) => pdf.toString('latin1').match(/\/Type \/Page\b/g)?.length ?? 0;
const PICTURE = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(90, 7)]).toString('base64');

/** Every form that a view has, and every kind of warning. */
const ARGUMENTS = {
  path: 'src/limits.ts',
  edits: [{ oldText: 'export const MAX = 50; // all\n', newText: 'export const MAX = 200;\n\tf("a", 1);\n' }],
  query: 'SELECT a FROM b -- all\nWHERE c = 1;',
  patch: '--- a\n+++ b\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n',
  rows: [
    { to: 'acct-1', amount: 1 },
    { to: 'b\u0430nk', amount: null },
  ],
  picture: PICTURE,
  list: ['1', 1, '', [], {}, true],
  inner: '{"a":[1,"b"]}',
  note: `first\u200b\u200b line${' '.repeat(14)}end\nsecond\u202e line\nthird\u200b line\n`,
  password: 'hunter2',
} satisfies JsonObject;

describe('the views of the arguments', () => {
  const service = new ApprovalsUnderTest();
  let browser: Browser;
  let cookies: Parameters<BrowserContext['addCookies']>[0];
  let page: Page;
  beforeAll(async () => {
    await service.start();
    browser = await launchBrowser();
    cookies = (await service.signIn('alice')).cookies();
    page = await newPage();
  });
  afterAll(async () => {
    await browser.close();
    await service.stop();
  });

  async function newPage(options: Parameters<Browser['newContext']>[0] = {}): Promise<Page> {
    const context = await browser.newContext(options);
    await context.addCookies(cookies);
    return context.newPage();
  }
  /** On a narrow screen and on a wide one. accessible.long.ts has every page on both. */
  async function expectToFit(): Promise<void> {
    for (const width of [390, 1_280]) {
      await page.setViewportSize({ width, height: 900 });
      const { wide, seen, ofPage } = await page
        .locator('.json')
        .first()
        .evaluate((region) => ({
          wide: region.scrollWidth,
          seen: region.clientWidth,
          ofPage: document.documentElement.scrollWidth,
        }));
      expect(wide).toBeLessThanOrEqual(seen);
      expect(ofPage).toBeLessThanOrEqual(width);
    }
  }
  const open = async (args: JsonObject) => `${service.url}/requests/${(await service.open({ arguments: args })).id}`;
  let opened: Promise<string> | undefined;
  /** A request with all of the arguments. */
  const openAll = () => (opened ??= open(ARGUMENTS));
  const current = (shown: Page) => shown.locator('nav[aria-label="View"] [aria-current]').innerText();

  it('change by links, from the keyboard and without a script', async () => {
    const plain = await newPage({ javaScriptEnabled: false });
    await plain.goto(await openAll());
    expect(await current(plain)).toBe('Readable');
    for (const name of ['Raw', 'Exact', 'Readable']) {
      await plain.getByRole('link', { name, exact: true }).focus();
      await Promise.all([
        plain.waitForURL(`**/requests/*?view=${name.toLowerCase()}#arguments`),
        plain.keyboard.press('Enter'),
      ]);
      expect(await current(plain)).toBe(name);
      expect(await plain.locator(`.json.${name.toLowerCase()}`).count()).toBe(1);
    }
    await plain.context().close();
  });

  it('begin with formatted JSON where another view shows no more, and where the address names no view', async () => {
    await page.goto(`${await open({ path: '/srv/a', count: 1 })}?view=other`);
    expect(await current(page)).toBe('Exact');
  });

  it.each(VIEWS)('allow an approval only when all of the arguments were on the screen: %s', async (view) => {
    await page.goto(`${await open({ content: 'one line of many\n'.repeat(400) })}?view=${view}`);
    const [approve, deny] = ['Approve', 'Deny'].map((name) => page.getByRole('button', { name, exact: true }));
    const hint = page.getByText('To approve, first scroll to the end of');
    await waitFor(async () => deny?.isEnabled());
    expect([await approve?.isEnabled(), await hint.isVisible()]).toEqual([false, true]);
    // Neither what is scrolled out of sight nor the beginning counts.
    await page.setViewportSize({ width: 1_280, height: 300 });
    await page
      .locator('.json')
      .first()
      .evaluate(async (region: HTMLElement) => {
        scrollTo(0, document.body.scrollHeight);
        region.scrollTop = region.scrollHeight;
        for (let frames = 0; frames < 5; frames += 1) await new Promise(requestAnimationFrame);
      });
    expect([await approve?.isEnabled(), await hint.isVisible()]).toEqual([false, true]);
    await page.setViewportSize({ width: 1_280, height: 900 });
    await readToTheEnd(page);
    await waitFor(async () => !(await hint.isVisible()));
    await waitFor(async () => approve?.isEnabled());
  });

  it.each(VIEWS)(
    'fit on every screen, and have a place for each warning, to which the keyboard leads: %s',
    async (view) => {
      await page.goto(`${await openAll()}?view=${view}`);
      await expectToFit();
      const links = page.locator('.notice.warn a[href^="#"]');
      const names = await links.allInnerTexts();
      // U+200B is in two places. The password is a credential by its name.
      expect(names).toHaveLength(6);
      for (const [at, name] of names.entries()) {
        await links.nth(at).focus();
        await page.keyboard.press('Enter');
        const place = page.locator(':focus');
        await waitFor(async () => (await place.evaluate((one) => one.closest('.json') !== null)) === true);
        const seen = await place.evaluate((one: HTMLElement) => {
          const [inner, outer] = [one, one.closest('.json') as HTMLElement].map((each) => each.getBoundingClientRect());
          return {
            text: one.innerText,
            isInside: (inner?.top ?? 0) >= (outer?.top ?? 0) && (inner?.top ?? 0) < (outer?.bottom ?? 0),
          };
        });
        expect(seen.isInside).toBe(true);
        if (name === 'password') expect(seen.text).toContain('hunter2');
        if (name.startsWith('\\u')) expect(seen.text).toContain(name);
      }
    },
  );

  it('break no rule of accessibility', async () => {
    await page.setViewportSize({ width: 390, height: 900 });
    await page.goto(await openAll());
    await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' });
    expect(await violationsIn(page)).toEqual([]);
    await page.setViewportSize({ width: 1_280, height: 900 });
  });

  it('lay out far lines as they come into sight, with their numbers, and a search in the page finds them', async () => {
    await page.goto(await open({ content: `${'one line of many\n'.repeat(3_000)}a-needle` }));
    const far = page.locator('.text .line').nth(2_500);
    const visibility = () => far.evaluate((line) => getComputedStyle(line).getPropertyValue('content-visibility'));
    expect(await visibility()).toBe('auto');
    expect(await page.evaluate("window.find('a-needle')")).toBe(true);
    const last = page.locator('.text .line').last();
    await last.scrollIntoViewIfNeeded();
    expect(await last.innerText()).toContain('a-needle');
    await page.emulateMedia({ media: 'print' });
    expect(await visibility()).toBe('visible');
    await page.emulateMedia({ media: 'screen' });
  });

  it('are complete on paper', async () => {
    await page.goto(await open({ content: 'one line of many\n'.repeat(700), path: '/srv/a' }));
    const onScreen = await heightsOf(page, '.json');
    expect(onScreen.whole).toBeGreaterThan(3 * onScreen.seen);
    await page.emulateMedia({ media: 'print' });
    const onPaper = await heightsOf(page, '.json');
    expect(onPaper.seen).toBe(onPaper.whole);
    expect(onPaper.seen).toBeGreaterThan(3 * SHEET);
    expect(sheetsOf(await page.pdf())).toBeGreaterThan(4);
  });
});
