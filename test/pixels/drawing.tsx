import { PNG } from 'pngjs';
import type { VNode } from 'preact';
import type { Browser, BrowserContext, CDPSession, Page as Tab } from 'playwright-core';
import { Arguments, type View } from '../../apps/approvals/inbox/arguments/arguments.tsx';
import { styleSheet } from '../../apps/shared/pages/assets.ts';
import { Page, renderPage } from '../../apps/shared/pages/layout.tsx';
import { Code } from '../../apps/shared/pages/visible.tsx';

export const WIDTHS = [390, 820, 1280] as const;
export const THEMES = ['light', 'dark'] as const;
/** Chromium draws no picture that is much higher. */
const HIGHEST = 12_000;

/** One block of arguments as it is drawn: four bytes a pixel, row by row. */
export interface Drawing {
  readonly width: number;
  readonly height: number;
  readonly pixels: Buffer;
}

/** The view in which a block is drawn, and whether it is dense, as those of long texts are. */
export interface Look {
  readonly view: View;
  readonly isDense: boolean;
}

/**
 * The steps of a colour, of 255, that no person sees. Chromium rounds the colours of a gradient by the place of a block on its
 * page, so equal blocks may differ by one.
 */
const UNSEEN = 2;

/** Whether two drawings look the same to a person. */
export function isSameDrawing(one: Drawing, other: Drawing): boolean {
  if (one.width !== other.width || one.height !== other.height) return false;
  if (one.pixels.equals(other.pixels)) return true;
  return one.pixels.every((colour, at) => Math.abs(colour - (other.pixels[at] ?? 0)) <= UNSEEN);
}

/**
 * The differences between the pixels and the page that people see. Blocks are as high as their content, so the
 * comparison includes the part that a person scrolls to. Every block begins at a whole pixel and has neither round
 * corners nor shadows, so that equal blocks are drawn equally. The notice above a block is left out, because the block
 * has to show the difference by itself.
 */
const FOR_COMPARISON = `
  * { border-radius: 0 !important; }
  .json { max-height: none; background: var(--sunken); }
  .notice { display: none; }
  .detail { display: block; }
  .detail > .card { margin: 0; }
  main, .card { padding-top: 1rem; padding-bottom: 1rem; }
`;

/** Draws arguments in Chromium with the component, the layout and the sheet of the product. */
export class DrawingBoard {
  readonly #context: BrowserContext;
  readonly #tab: Tab;
  readonly #session: CDPSession;

  private constructor(context: BrowserContext, tab: Tab, session: CDPSession) {
    this.#context = context;
    this.#tab = tab;
    this.#session = session;
  }

  static async open(browser: Browser, width: number, theme: (typeof THEMES)[number]): Promise<DrawingBoard> {
    const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: theme });
    const tab = await context.newPage();
    return new DrawingBoard(context, tab, await context.newCDPSession(tab));
  }

  close(): Promise<void> {
    return this.#context.close();
  }

  /** The blocks of these canonical texts, in order. */
  draw(texts: readonly string[], look: Look): Promise<Drawing[]> {
    return this.#drawAll(texts.map((one, key) => blockOf(one, key, look)));
  }

  /** The markup that the browser has of each of these canonical texts. */
  async read(texts: readonly string[], look: Look): Promise<string[]> {
    await this.#tab.setContent(pageOf(texts.map((one, key) => blockOf(one, key, look))));
    return this.#tab.evaluate(() => Array.from(document.querySelectorAll('.json'), ({ outerHTML }) => outerHTML));
  }

  /** These names, each as the heading of a page. */
  drawNames(names: readonly string[]): Promise<Drawing[]> {
    return this.#drawAll(
      names.map((name) => (
        <h1 key={name}>
          <Code text={name} />
        </h1>
      )),
    );
  }

  async #drawAll(blocks: readonly VNode[]): Promise<Drawing[]> {
    await this.#tab.setContent(pageOf(blocks));
    const boxes = await this.#tab.evaluate(settle);
    const drawings: Drawing[] = [];
    for (let from = 0; from < boxes.length;) {
      const top = boxes[from]?.y ?? 0;
      const beyond = boxes.findIndex(({ y, height }, at) => at > from && y + height > top + HIGHEST);
      const some = boxes.slice(from, beyond === -1 ? undefined : beyond);
      const picture = await this.#photograph(some);
      drawings.push(...some.map((box) => cut(picture, { ...box, x: 0, y: box.y - top })));
      from += some.length;
    }
    return drawings;
  }

  /** The part of the page from the first of these to the last; all of them begin at the same place in a row. */
  async #photograph(boxes: readonly Box[]): Promise<PNG> {
    const [first, last] = [boxes[0], boxes.at(-1)];
    if (first === undefined || last === undefined) throw new Error('there is nothing to draw');
    const clip = { ...first, height: last.y + last.height - first.y, scale: 1 };
    const { data } = await this.#session.send('Page.captureScreenshot', {
      ...{ format: 'png', clip, captureBeyondViewport: true, optimizeForSpeed: true },
    });
    return PNG.sync.read(Buffer.from(data, 'base64'));
  }
}

interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

function cut({ data, width: pitch }: PNG, { x, y, width, height }: Box): Drawing {
  const rows = Array.from({ length: height }, (_, row) => {
    const start = ((y + row) * pitch + x) * 4;
    return data.subarray(start, start + width * 4);
  });
  return { width, height, pixels: Buffer.concat(rows) };
}

const blockOf = (canonical: string, key: number, look: Look) => (
  <Arguments
    key={key}
    {...{ canonical, ...look }}
    label="Arguments of the call"
    id={`block-${key}`}
    heading={<h2>What will run</h2>}
    address="/requests/1"
    mayHoldCredentials={false}
  />
);

function pageOf(blocks: readonly VNode[]): string {
  const page = renderPage(
    <Page title="Arguments" section="Approvals" person={{ name: 'Alice', csrfToken: '' }}>
      <div class="detail">
        {blocks.map((block, key) => (
          <section key={key} class="card">
            {block}
          </section>
        ))}
      </div>
    </Page>,
  );
  return page.replace(/<link rel="stylesheet"[^>]*>/, () => `<style>${styleSheet()}${FOR_COMPARISON}</style>`);
}

/** Runs in the page: gives each card a height of whole pixels, and answers where the blocks are. */
function settle(): Box[] {
  interface Element {
    getBoundingClientRect(): Box;
    querySelector(selector: string): Element;
    style: { setProperty(name: string, value: string): void };
  }
  const { document } = globalThis as unknown as { document: { querySelectorAll(selector: string): Iterable<Element> } };
  const cards = [...document.querySelectorAll('.detail > .card')];
  const heights = cards.map((card) => card.getBoundingClientRect().height);
  for (const [at, card] of cards.entries()) card.style.setProperty('height', `${Math.ceil(heights[at] ?? 0)}px`);
  return cards.map((card) => {
    const { x, y, width, height } = card.querySelector('.json, h1').getBoundingClientRect();
    return { x: Math.floor(x), y: Math.floor(y), width: Math.ceil(width), height: Math.ceil(height) };
  });
}
