import type { Pool } from 'pg';
import type { Browser, Page, Request } from 'playwright-core';
import type { Browser as HttpBrowser } from './browser.ts';
import { sourcesOn } from './control-sources.ts';
import { collect, type Control } from './controls.ts';
import { countEffects, effectsOf, wrongEffects } from './effects.ts';
import { addressOf, elementOf, press, type Texts } from './press.ts';
import { signInTo } from './signing-in.ts';

/** A page in one of its states, as a visitor sees it. */
export interface Situation {
  readonly name: string;
  /** The signed-in person; undefined when no person is signed in. */
  readonly as?: string;
  /** Creates the state and answers the address of the page. */
  prepare(): Promise<string>;
  /** Goes on from there, where the page is an answer to a form. */
  arrive?(page: Page): Promise<void>;
  /** The status of the page; 200 by default. */
  readonly status?: number;
  /** Statuses of refusals that may answer presses on this page. */
  readonly refusals?: readonly number[];
}

/** A situation before a visitor's eyes. */
interface Opened {
  readonly situation: Situation;
  readonly page: Page;
  readonly faults: string[];
  /** The page on which the situation was prepared last. */
  address: string | undefined;
  isArriving: boolean;
  /** Whether a request was sent that may have changed the state. */
  hasSent: boolean;
  /** Forms that the site accepted with the current press. */
  readonly taken: Request[];
}

export interface ControlsOptions {
  readonly browser: Browser;
  readonly url: string;
  readonly issuer: string;
  /** Of the database in which the presses have their effects. */
  readonly pool: Pool;
  readonly texts: Texts;
  readonly javaScriptEnabled: boolean;
  /** Presses a control on each page that has it. Otherwise it presses it on the first page that has it. */
  readonly everywhere: boolean;
}

/**
 * Presses the controls of a page, each time in a fresh state, and throws for a control without its own effect, with a
 * failure, or without focus.
 */
export class ControlsUnderTest {
  readonly #options: ControlsOptions;
  /** Cookies of the signed-in people. */
  readonly #signedIn = new Map<string, ReturnType<HttpBrowser['cookies']>>();
  readonly #pressedBefore = new Set<string>();
  #page: Page | undefined;
  /** The person whose sign-in the page has. */
  #present: string | undefined;
  /** The content now before the page's reader. */
  #opened: Opened | undefined;

  constructor(options: ControlsOptions) {
    this.#options = options;
  }

  /**
   * Presses the controls that are new, and answers the places in the sources of all controls of the page. A control that leads away is
   * pressed in a fresh state of its own.
   */
  async pressAll(situation: Situation): Promise<string[]> {
    const ahead = await this.#readAhead(situation);
    if (ahead?.hasNew === false) return ahead.sources;
    const opened = await this.#open(situation, ahead?.address);
    const controls = await collect(opened.page);
    const where = ({ label, source }: Control) => `${situation.name}: ${label} (${source})`;
    const fresh = controls.filter((one) => this.#isNew(one));
    const leads = ({ tag }: Control) => tag === 'a' && !this.#options.everywhere;
    for (const control of fresh.filter(leads)) await this.#checkLink(opened, control, where(control));
    const others = fresh.filter((one) => !leads(one));
    for (const control of others.filter(({ staysHere }) => staysHere))
      await this.#check(opened, control, where(control));
    for (const [index, control] of others.filter(({ staysHere }) => !staysHere).entries()) {
      if (index > 0) await this.#again(opened);
      await this.#check(opened, control, where(control));
    }
    return controls.map(({ source }) => source);
  }

  /** The controls of a page, read without a browser where that can spare opening it. */
  async #readAhead({ as, prepare, arrive, status = 200 }: Situation) {
    if (this.#options.everywhere || arrive !== undefined) return undefined;
    const page = (this.#page ??= await this.#newPage());
    await this.#appearAs(page, as);
    const address = await prepare();
    const headers = { accept: 'text/html' };
    const answer = await page.context().request.get(new URL(address, this.#options.url).href, { headers });
    if (answer.status() !== status) throw new Error(`the page has the status ${answer.status()}`);
    const sources = sourcesOn(await answer.text());
    return { address, sources, hasNew: sources.some((source) => !this.#pressedBefore.has(source)) };
  }

  async #check({ page, faults, taken }: Opened, control: Control, where: string): Promise<void> {
    const { pool, texts } = this.#options;
    try {
      const before = await countEffects(pool);
      taken.length = 0;
      await press(page, control, texts);
      await page.waitForLoadState('load');
      if (!(await page.evaluate(hasSensibleFocus))) faults.push('the focus is on no visible element');
      faults.push(...wrongEffects(before, await countEffects(pool), taken.flatMap(effectsOf)));
    } catch (error) {
      faults.push(String(error));
    }
    if (faults.length > 0) throw new Error(`${where}: ${faults.join('; ')}`);
  }

  /** Follows a link without leaving the page, but for one to a place on the page, which is pressed. */
  async #checkLink(opened: Opened, control: Control, where: string): Promise<void> {
    const { page, situation } = opened;
    const { refusals = [] } = situation;
    try {
      const address = await addressOf(elementOf(page, control));
      const [place, fragment] = address.split('#');
      if (fragment !== undefined && place === page.url().split('#')[0])
        return await this.#check(opened, control, where);
      const answer = await page.context().request.get(address, { headers: { accept: 'text/html' } });
      if (!answer.ok() && !refusals.includes(answer.status())) throw new Error(`${answer.status()} for ${address}`);
    } catch (error) {
      throw new Error(`${where}: ${String(error)}`, { cause: error });
    }
  }

  /**
   * Whether the control is to be pressed here: once for its place in the sources, or else on each page. The frame of all
   * pages and a link to the same place have the same effect on each page.
   */
  #isNew(control: Control): boolean {
    const { source, isOfFrame, staysHere, content } = control;
    const isLink = content?.startsWith('<') === false;
    if (this.#options.everywhere && (staysHere || !(isOfFrame || isLink))) return true;
    const key = this.#options.everywhere ? `${source} ${content ?? ''}` : source;
    const isNew = !this.#pressedBefore.has(key);
    this.#pressedBefore.add(key);
    return isNew;
  }

  /**
   * All situations share one page, because a new one costs a browser as much as five loads.
   */
  async #open(situation: Situation, address?: string): Promise<Opened> {
    const page = (this.#page ??= await this.#newPage());
    const opened: Opened = {
      situation,
      page,
      address,
      faults: [],
      isArriving: true,
      hasSent: false,
      taken: [],
    };
    this.#opened = opened;
    await this.#again(opened);
    return opened;
  }

  async #newPage(): Promise<Page> {
    const { browser, javaScriptEnabled } = this.#options;
    const page = await (await browser.newContext({ javaScriptEnabled })).newPage();
    await page.addInitScript(allowNotices);
    page.on('pageerror', (error) => this.#opened?.faults.push(`the page threw ${error.message}`));
    page.on('console', (message) => {
      // Chromium writes a line for each refusal; the statuses are checked separately.
      const isOfStatus = message.text().startsWith('Failed to load resource');
      if (message.type() === 'error' && !isOfStatus) this.#opened?.faults.push(`the console says ${message.text()}`);
    });
    page.on('request', (request) => {
      if (this.#opened !== undefined) this.#opened.hasSent ||= request.method() === 'POST';
      if (new URL(request.url()).pathname !== '/sign-out') return;
      this.#signedIn.clear();
      this.#present = undefined;
    });
    page.on('response', (response) => {
      if (this.#opened === undefined) return;
      const { isArriving, faults, situation, taken } = this.#opened;
      const request = response.request();
      const isOwn = new URL(request.url()).origin === new URL(this.#options.url).origin;
      if (isOwn && request.method() === 'POST' && response.status() < 400) taken.push(request);
      const { status = 200, refusals = [] } = situation;
      const isMeant = isArriving ? response.status() === status : refusals.includes(response.status());
      if (response.status() >= 400 && !isMeant) faults.push(`${response.status()} for ${response.url()}`);
    });
    return page;
  }

  /** The same state again: only the page where no request was sent, or else everything. */
  async #again(opened: Opened): Promise<void> {
    const { page, faults, situation } = opened;
    const { as, prepare, arrive, status = 200 } = situation;
    opened.isArriving = true;
    await this.#appearAs(page, as);
    if (opened.hasSent || arrive !== undefined) opened.address = undefined;
    opened.address ??= await prepare();
    const answer = await page.goto(new URL(opened.address, this.#options.url).href);
    await arrive?.(page);
    if (arrive === undefined && answer?.status() !== status) faults.push(`the page has the status ${answer?.status()}`);
    if (faults.length > 0) throw new Error(`the page cannot be opened: ${faults.join('; ')}`);
    Object.assign(opened, { isArriving: false, hasSent: false });
  }

  /** Gives the page the sign-in of this person, or no sign-in. */
  async #appearAs(page: Page, as: string | undefined): Promise<void> {
    if (this.#present !== undefined && this.#present === as) return;
    // A page that follows changes would ask without a sign-in. For a page of no site, Chromium starts another process.
    await page.goto(new URL('/livez', this.#options.url).href);
    await page.context().clearCookies();
    if (as !== undefined) await page.context().addCookies(await this.#signIn(as));
    this.#present = as;
  }

  /** In the ordinary way, once for each person and each time that they signed out. */
  async #signIn(name: string) {
    const known = this.#signedIn.get(name);
    if (known !== undefined) return known;
    const { url: site, issuer } = this.#options;
    const signedIn = await signInTo({ site, issuer }, name);
    const state = [...signedIn.site.cookies(), ...signedIn.atIssuer.cookies()];
    this.#signedIn.set(name, state);
    return state;
  }
}

/** In a browser without a desktop, which allows no notices, and with a push service that does not answer. */
function allowNotices(): void {
  const allowed = { permission: 'granted', requestPermission: () => Promise.resolve('granted') };
  Object.assign(window, { Notification: allowed });
  // Chromium has none, and would write so to the console. A refusal would take the press back before it is checked.
  const subscribe = () => new Promise<never>(() => {});
  Object.assign(PushManager.prototype, { subscribe });
}

/** In a browser: whether the focus is where a person can see it, or at the beginning of the page. */
function hasSensibleFocus(): boolean {
  const { activeElement } = document;
  if (activeElement === null || activeElement === document.body) return true;
  return activeElement.getClientRects().length > 0 && !activeElement.matches(':disabled');
}
