import type { Browser } from 'playwright-core';
import { VIEWS, type View } from '../../apps/approvals/inbox/arguments/arguments.tsx';
import { launchBrowser } from '../support/chromium.ts';
import { DrawingBoard, isSameDrawing, THEMES, WIDTHS, type Drawing } from './drawing.tsx';
import { pairsOf, type Pair } from './pairs.ts';

const ALL_SCREENS = WIDTHS.flatMap((width) => THEMES.map((theme) => ({ width, theme })));
/** Pairs on one page. */
const AT_ONCE = 40;
/** One of this many pages is drawn in the form that long arguments have. */
const DENSE_EVERY = 4;
/** Pairs that one browser draws. A browser keeps some memory for every picture, so a run of thousands needs several. */
const PER_BROWSER = 400;

export interface PixelOptions {
  readonly pairs: number;
  readonly seed: string;
  /** The widths and themes of pages; all by default. */
  readonly screens?: readonly Screen[];
  /** It draws every pair. By default, browsers of this run's own do, which end with it. */
  readonly browser?: Browser;
  /**
   * Called after each page with the number of pairs that have been drawn in all views, widths and themes, and the number that
   * looked alike.
   */
  readonly onProgress?: (drawn: number, alike: number) => void;
}

type Screen = (typeof ALL_SCREENS)[number];

/** A pair that looks the same in some view, at some width and theme. */
export interface Alike extends Pair {
  readonly view: View;
  readonly width: number;
  readonly theme: string;
}

export interface PixelFigures {
  readonly pairs: number;
  readonly seed: string;
  readonly seconds: number;
  readonly drawings: number;
  readonly kinds: Readonly<Record<string, number>>;
  readonly alike: readonly Alike[];
  /** Calls that were drawn twice and differ from themselves: then pairs that differ prove nothing. */
  readonly unsteady: number;
}

/**
 * Draws both calls of each pair as approvers see them, in every view, at every width and in every theme, and compares the pixels. One
 * call of each page is drawn twice, to check that equal calls are drawn equally.
 */
export async function runPixels({
  pairs: count,
  seed,
  screens = ALL_SCREENS,
  browser,
  onProgress,
}: PixelOptions): Promise<PixelFigures> {
  const began = performance.now();
  const pairs = pairsOf(seed, count);
  const kinds: Record<string, number> = {};
  for (const { kind } of pairs) kinds[kind] = (kinds[kind] ?? 0) + 1;
  const alike: Alike[] = [];
  let [drawings, unsteady] = [0, 0];
  for (let begin = 0; begin < pairs.length; begin += PER_BROWSER) {
    const work = async (boards: Boards) => {
      for (let from = begin; from < Math.min(begin + PER_BROWSER, pairs.length); from += AT_ONCE) {
        const some = pairs.slice(from, from + AT_ONCE);
        const texts = some.flatMap(({ left, right }) => [left, right]);
        const page = from / AT_ONCE;
        const twice = page % texts.length;
        for (const { width, theme, board } of boards) {
          for (const view of VIEWS) {
            const drawn = await board.draw([...texts, texts[twice] ?? ''], { view, isDense: page % DENSE_EVERY === 1 });
            for (const [at, pair] of some.entries())
              if (isSameAt(drawn, 2 * at, 2 * at + 1)) alike.push({ ...pair, view, width, theme });
            if (!isSameAt(drawn, twice, texts.length)) unsteady += 1;
            drawings += drawn.length;
          }
        }
        onProgress?.(from + some.length, alike.length);
      }
    };
    await (browser === undefined
      ? withOwnBrowser((own) => withBoards(own, screens, work))
      : withBoards(browser, screens, work));
  }
  return { pairs: pairs.length, seed, seconds: (performance.now() - began) / 1_000, drawings, kinds, alike, unsteady };
}

type Boards = readonly { readonly width: number; readonly theme: string; readonly board: DrawingBoard }[];

/** A board for every width and theme, in one browser, which end with the work. */
async function withBoards(
  browser: Browser,
  screens: readonly Screen[],
  work: (boards: Boards) => Promise<void>,
): Promise<void> {
  const open = async ({ width, theme }: Screen) => ({
    ...{ width, theme },
    board: await DrawingBoard.open(browser, width, theme),
  });
  const boards = await Promise.all(screens.map(open));
  try {
    await work(boards);
  } finally {
    for (const { board } of boards) await board.close();
  }
}

async function withOwnBrowser(work: (browser: Browser) => Promise<void>): Promise<void> {
  const browser = await launchBrowser();
  try {
    await work(browser);
  } finally {
    await browser.close();
  }
}

function isSameAt(drawn: readonly Drawing[], one: number, other: number): boolean {
  const [left, right] = [drawn[one], drawn[other]];
  if (left === undefined || right === undefined) throw new Error('a block was not drawn');
  return isSameDrawing(left, right);
}
