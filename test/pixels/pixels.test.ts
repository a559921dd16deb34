import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { canonicalJson } from '../../workflows/domain/canonical-json.ts';
import { launchBrowser } from '../support/chromium.ts';
import { DrawingBoard, isSameDrawing, WIDTHS } from './drawing.tsx';
import { runPixels } from './run-pixels.ts';

/** Fewer than `npm run test:pixels` draws, and always the same. */
const PAIRS = 100;

describe('arguments, as an approver sees them', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser.close());

  it.each(WIDTHS.flatMap((width) => [[width, 'as usual', false] as const, [width, 'dense', true] as const]))(
    'tell a blank before the last character from none, wherever lines of %i px end, %s',
    async (width, _form, isDense) => {
      const board = await DrawingBoard.open(browser, width, 'light');
      const lengths = Array.from({ length: 76 }, (_, at) => at + 4);
      const texts = lengths.flatMap((length) =>
        ['/', ' /'].map((end) =>
          canonicalJson({ command: `rm -rf /srv/backup/${'d'.repeat(length)}${end}`, cwd: '/srv' }),
        ),
      );
      const drawings = await board.draw(texts, isDense);
      const alike = texts.filter((_, at) => {
        const [one, other] = [drawings[at], drawings[at ^ 1]];
        return one === undefined || other === undefined || isSameDrawing(one, other);
      });
      expect(alike).toEqual([]);
    },
  );

  it('differ wherever two calls do', async () => {
    const { alike, unsteady, pairs } = await runPixels({ pairs: PAIRS, seed: 'the suite' });
    expect({ alike, unsteady, pairs }).toEqual({ alike: [], unsteady: 0, pairs: PAIRS });
  });
});
