import { expect, it } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { canonicalJson } from '../../workflows/domain/canonical-json.ts';
import { VIEWS } from '../../apps/approvals/inbox/arguments/arguments.tsx';
import { DrawingBoard, isSameDrawing, type Drawing, type Look } from './drawing.tsx';

/** Every look, by words for it. */
export const ALL_LOOKS: readonly (readonly [string, Look])[] = VIEWS.flatMap((view) => [
  [view, { view, isDense: false }] as const,
  [`${view}, dense`, { view, isDense: true }] as const,
]);

interface LineEnds {
  readonly browser: () => Browser;
  /** Of pages, in pixels. */
  readonly widths: readonly number[];
  readonly looks?: typeof ALL_LOOKS;
  /** How many lengths of texts are drawn, from 4 characters. */
  readonly lengths?: number;
  /** Whether tabs are drawn too. */
  readonly withTabs?: boolean;
}

/** Tests that no end of a line hides a blank. */
export function testLineEnds({
  browser,
  widths,
  looks = ALL_LOOKS,
  lengths: count = 76,
  withTabs = true,
}: LineEnds): void {
  const boards = new Map<number, Promise<DrawingBoard>>();

  /** One for each width. */
  function boardOf(width: number): Promise<DrawingBoard> {
    const board = boards.get(width) ?? DrawingBoard.open(browser(), width, 'light');
    boards.set(width, board);
    return board;
  }

  const lengths = Array.from({ length: count }, (_, at) => at + 4);
  /** The texts at even places that look like the following text. */
  const alikeIn = (texts: readonly string[], drawings: readonly Drawing[]) =>
    texts.filter((_, at) => {
      const [one, other] = [drawings[at], drawings[at + 1]];
      return at % 2 === 0 && (one === undefined || other === undefined || isSameDrawing(one, other));
    });
  const commands = (ends: readonly [string, string]) =>
    lengths.flatMap((length) =>
      ends.map((end) => canonicalJson({ command: `rm -rf /srv/backup/${'d'.repeat(length)}${end}`, cwd: '/srv' })),
    );

  const cases = widths.flatMap((width) => looks.map(([name, look]) => [width, name, look] as const));
  it.each(cases)(
    'show a blank before the last character, wherever lines of %i px end, %s',
    async (width, _name, look) => {
      const board = await boardOf(width);
      const texts = commands(['/', ' /']);
      expect(alikeIn(texts, await board.draw(texts, look))).toEqual([]);
    },
  );

  it.each(cases.filter(([, , { isDense }]) => isDense))(
    'show a blank before a wider character, wherever filled lines of %i px end, %s',
    async (width, _name, look) => {
      const board = await boardOf(width);
      const texts = commands(['\u{1d68a}x', ' \u{1d68a}x']);
      expect(alikeIn(texts, await board.draw(texts, look))).toEqual([]);
    },
  );

  const drawTabs = async (width: number) => {
    const board = await boardOf(width);
    const texts = [...commands(['\tx\ny', ' \tx\ny']), ...commands(['\tx\ny', '\t x\ny'])];
    expect(alikeIn(texts, await board.draw(texts, { view: 'readable', isDense: false }))).toEqual([]);
  };
  if (withTabs) it.each(widths)('show a blank beside a tab, wherever lines of %i px end', drawTabs);

  it('show it in names too, where a browser would end a line by itself', async () => {
    const board = await boardOf(390);
    const names = ['-', '?', '\u2014'].flatMap((sign) =>
      lengths
        .slice(0, 28)
        .flatMap((length) => [sign, `${sign} `].map((joint) => 'a'.repeat(length) + joint + 'b'.repeat(12))),
    );
    expect(alikeIn(names, await board.drawNames(names))).toEqual([]);
  });
}
