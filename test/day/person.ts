import type { Locator, Page } from 'playwright-core';

/** What a task took: presses of keys, clicks or taps, and seconds, the waits for pages included. */
export interface Taken {
  readonly presses: number;
  /** Until the page answers: it shows what was looked for, or says that it takes the decision and how to undo that. */
  readonly seconds: number;
  /** Until the page says that a decision counted: later than its answer by the time to undo it. */
  readonly countedSeconds?: number;
}

/** A person at a keyboard, or with a finger on a touch screen. Counts each press; a typed text counts as one. */
export class Person {
  readonly page: Page;
  readonly #hasKeyboard: boolean;
  #presses = 0;
  #answeredAt: number | undefined;

  constructor(page: Page, hasKeyboard: boolean) {
    this.page = page;
    this.#hasKeyboard = hasKeyboard;
  }

  get hasKeyboard(): boolean {
    return this.#hasKeyboard;
  }

  /** Runs one task and says what it took. */
  async measure(task: () => Promise<void>): Promise<Taken> {
    this.#presses = 0;
    this.#answeredAt = undefined;
    const start = performance.now();
    const since = (at: number) => (at - start) / 1_000;
    await task();
    const end = performance.now();
    if (this.#answeredAt === undefined) return { presses: this.#presses, seconds: since(end) };
    return { presses: this.#presses, seconds: since(this.#answeredAt), countedSeconds: since(end) };
  }

  /** Waits until the page says that it takes the decision in five seconds. */
  async answered(): Promise<void> {
    await this.page
      .locator('.undo')
      .getByText(/ in \d s\.$/)
      .waitFor();
    this.#answeredAt = performance.now();
  }

  async key(key: string): Promise<void> {
    this.#presses += 1;
    await this.page.keyboard.press(key);
  }

  /** A finger scrolls to what it taps. */
  async tap(target: Locator): Promise<void> {
    this.#presses += 1;
    await target.scrollIntoViewIfNeeded();
    await target.tap();
  }

  /** Moves the content of a scrolled region up by most of its height, or else the page. */
  async swipe(region: Locator): Promise<void> {
    this.#presses += 1;
    await region.evaluate((one) => {
      const before = one.scrollTop;
      one.scrollBy(0, one.clientHeight * 0.9);
      if (one.scrollTop === before) scrollBy(0, innerHeight * 0.7);
    });
  }

  async type(text: string): Promise<void> {
    this.#presses += 1;
    await this.page.keyboard.type(text);
  }

  /** Moves the focus by the tab key until it is on the target. */
  async tabTo(target: Locator): Promise<void> {
    const isThere = () => target.evaluate((one) => one === document.activeElement);
    for (let pressed = 0; !(await isThere()); pressed += 1) {
      if (pressed === 200) throw new Error('the tab key does not lead there');
      await this.key('Tab');
    }
  }
}
