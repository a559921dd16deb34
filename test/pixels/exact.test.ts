import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { canonicalJson, type Json } from '../../workflows/domain/canonical-json.ts';
import { launchBrowser } from '../support/chromium.ts';
import { VIEWS } from '../../apps/approvals/inbox/arguments/arguments.tsx';
import { bytesOf } from '../unit/apps/approvals/arguments/bytes-of.ts';
import { ALIKE, BLANKS, CONTROLS, FOREIGN, MARKS, UNSEEN } from './characters.ts';
import { DrawingBoard } from './drawing.tsx';

const characters = [
  ...BLANKS,
  ...UNSEEN,
  ...CONTROLS,
  ...MARKS,
  ...[...ALIKE, ...FOREIGN].flatMap(([, one = '']) => one),
];

/**
 * Each hostile character at the start, within and at the end of a name and a text; and imitations of JSON, escapes and
 * markup.
 */
const SETS: readonly Json[] = [
  ...characters.map((one) => ({
    [`${one}k${one}y${one}`]: [`${one}a${one}b${one}`, one],
    path: `/srv/${one}`,
    lines: `${one}\n${one}a ${one}`,
  })),
  {},
  [],
  '',
  null,
  -0,
  [1e21, 1e-7, 5e-324, 1.7976931348623157e308, 9_007_199_254_740_992],
  ['1', 1, 'true', true, 'null', null],
  { '': { '': [[], {}, ''] } },
  { constructor: 1, toString: 2, hasOwnProperty: 3 },
  { path: '/a","path":"/b' },
  { a: '},\n  "b": {' },
  { said: '\\u202e \\n \\\\ \\" U+202E ·' },
  { html: '</pre><script>alert(1)</script>&lt;&amp;&#10;<!--' },
  { style: '<span class="points">U+0430</span>', mark: '<mark>a</mark>' },
  { lines: 'a\nb\r\nc\n\n  d\n' },
  { long: `${'d'.repeat(3_000)} ${'/x'.repeat(500)}` },
  { crowd: Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`k${at}`, at])) },
  Array.from({ length: 60 }).reduce<Json>((inner) => [inner], 'deep'),
];

describe('arguments on the page of a request', () => {
  let browser!: Browser;
  let board: DrawingBoard;
  beforeAll(async () => {
    browser = await launchBrowser();
    board = await DrawingBoard.open(browser, 390, 'light');
  });
  afterAll(() => browser.close());

  it.each(
    VIEWS.flatMap((view) => [[view, 'as usual', false] as const, [view, 'dense, as long ones are', true] as const]),
  )(`are read back from it to the byte: ${SETS.length} sets, %s, %s`, async (view, _form, isDense) => {
    const canonical = SETS.map((one) => canonicalJson(one));
    const shown = await board.read(canonical, { view, isDense });
    expect(shown.map((html) => bytesOf(html, view))).toEqual(canonical);
  });
});
