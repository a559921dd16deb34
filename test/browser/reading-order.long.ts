import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { SitesUnderTest } from './sites.ts';
import { signPageIn } from '../support/page-sign-in.ts';

/** One situation for each kind of page. */
const READ = [
  'the list of what is yours',
  'requests of one kind',
  'several requests to decide together',
  'a request to decide',
  'a request with warnings',
  'a request with prepared reasons',
  'a request of their own agent',
  'a request with a grant to give',
  'a request with a preview',
  'a request with questions that wait',
  'a request with questions to one',
  'a request to grant in an emergency',
  'a vote that came too late',
  'an approved request',
  'a grant',
  'no delegations',
  'passkeys',
  'a list without records',
  'the record of a call: executed',
  'no such record',
];
/** What differs each time. */
const CHANGING: readonly (readonly [RegExp, string])[] = [
  [/\b(arq|apr|grn|out|tsk|req|evt|eval|dlg|gc)_[\w-]{6,}/g, '$1_…'],
  [/\b[0-9a-f]{8}-[0-9a-f-]{27}\b/g, '(id)'],
  [/\b[0-9a-f]{32,64}\b/g, '(digest)'],
  [/\b\d{1,2} [A-Z][a-z]{2} \d{4}, \d{2}:\d{2}(:[\d.]+)? UTC/g, '(time)'],
  [/\b\d{4}-\d{2}-\d{2}T[\d:.]+Z/g, '(time)'],
  [/\b(just now|(\d+|a|an) (second|minute)s? ago)\b/g, '(a moment ago)'],
  // Buttons that decide begin to work when they have been in sight for a moment.
  [/ \[disabled\]/g, ''],
  [/127\.0\.0\.1:\d+|localhost:\d+/g, '(host)'],
];
const MOST_STOPS = 80;

const steady = (text: string) => CHANGING.reduce((all, [changing, fixed]) => all.replaceAll(changing, fixed), text);

/** A person stays in a field longer than the buttons of its form need until they work. Those that approve may wait for the rest of the call. */
const MAY_GO_ON = () => {
  const form = document.activeElement?.closest('form[data-decides]');
  const buttons = [...(form?.querySelectorAll('button') ?? [])].filter(({ value }) => value !== 'approve');
  return buttons.every(({ disabled }) => !disabled);
};

/** What has the focus after each press of the Tab key, from the beginning of the page to its end. */
async function stops(page: Page): Promise<string[]> {
  const found: string[] = [];
  await page.evaluate(() => {
    document.body.tabIndex = -1;
    document.body.focus();
  });
  while (found.length < MOST_STOPS) {
    await page.keyboard.press('Tab');
    const stop = await page.evaluate(() => {
      const at = document.activeElement as HTMLInputElement | null;
      if (at === null || at === document.body) return undefined;
      const label = Array.from(at.labels ?? [], ({ innerText }) => innerText).join(' ');
      const name = at.getAttribute('aria-label') ?? (label || at.innerText || at.name);
      return `${at.tagName.toLowerCase()} ${name.trim().replaceAll(/\s+/g, ' ')}`;
    });
    if (stop === undefined) return found;
    found.push(steady(stop));
    await page.waitForFunction(MAY_GO_ON);
  }
  throw new Error(`the page has more than ${MOST_STOPS} stops`);
}

describe('what a screen reader reads, and where the Tab key stops, in order', () => {
  const sites = new SitesUnderTest();
  beforeAll(() => sites.start());
  afterAll(() => sites.stop());

  const situations = READ.map((name) => {
    const site = sites.all.find((one) => one.situations.some((situation) => situation.name === name));
    const situation = site?.situations.find((one) => one.name === name);
    if (site === undefined || situation === undefined) throw new Error(`there is no situation “${name}”`);
    return { ...situation, url: site.url };
  });

  it.each(situations)('on the page of $name', async ({ as, prepare, arrive, url }) => {
    const page = await (await sites.browser.newContext({ viewport: { width: 1_280, height: 900 } })).newPage();
    if (as !== undefined) await signPageIn(page, url(), as);
    await page.goto(new URL(await prepare(), url()).href);
    await arrive?.(page);
    expect(steady(await page.locator('body').ariaSnapshot())).toMatchSnapshot('read');
    expect((await stops(page)).join('\n')).toMatchSnapshot('stops');
    await page.context().close();
  });
});
