import type { Browser, Page } from 'playwright-core';
import { ApprovalsUnderTest } from '../support/approvals.ts';
import { launchBrowser } from '../support/chromium.ts';
import { bringSignIn } from '../support/page-sign-in.ts';

/** A template with one stage, for these people. */
export const of = (people: string[], quorum = 1, more: object = {}) => ({
  stages: [{ name: 'one', approvers: { people }, quorum, ...more }],
});

/** A call of a tool that one of two approvers decides. */
export const call = (tool: string, effect: string, more: object = {}) => ({
  tool,
  members: ['agent', 'arguments', 'call', 'call_digest'],
  context: { call: { tool, effect } },
  claims: { template: 'either' },
  ...more,
});

/** The row of a request in a list. */
export const row = (page: Page, { id }: { id: string }) => page.locator(`[data-request="${id}"]`);

/** The inbox, with one approver in each of two browsers. */
export class TwoBrowsers {
  readonly service = new ApprovalsUnderTest();
  readonly pages: Record<string, Page> = {};
  #browser: Browser | undefined;

  async start(approvals: Record<string, unknown>): Promise<void> {
    await this.service.start({ approvals });
    this.#browser = await launchBrowser();
    for (const name of ['alice', 'bob']) {
      const context = await this.#browser.newContext();
      await bringSignIn(context, { site: this.service.url, issuer: this.service.config.urls.issuer }, name);
      this.pages[name] = await context.newPage();
    }
  }

  /** Opens the address in the browser of this person. */
  readonly as = async (name: string, path: string): Promise<Page> => {
    const page = this.pages[name];
    if (page === undefined) throw new Error(`${name} has no browser`);
    await page.goto(new URL(path, this.service.url).href);
    return page;
  };

  /** Opens the address in one more browser of alice, in another time zone. */
  readonly abroad = async (timezoneId: string, path: string): Promise<Page> => {
    const context = await this.#browser?.newContext({ timezoneId });
    if (context === undefined) throw new Error('there is no browser');
    await bringSignIn(context, { site: this.service.url, issuer: this.service.config.urls.issuer }, 'alice');
    const page = await context.newPage();
    await page.goto(new URL(path, this.service.url).href);
    return page;
  };

  async stop(): Promise<void> {
    await this.#browser?.close();
    await this.service.stop();
  }
}
