import { describe, expect, it } from '@jest/globals';
import { layOutJson, linesOf } from '../../../../../apps/approvals/inbox/arguments/json-lines.ts';
import { canonicalJson, type Json } from '../../../../../workflows/domain/canonical-json.ts';

const linesIn = (value: Json) =>
  linesOf(layOutJson(canonicalJson(value))).map(({ depth, pieces }) => [
    depth,
    pieces.map(({ text }) => text).join(''),
  ]);

describe('lines of laid out JSON', () => {
  it('end where the layout ends one, and behind each line break of a text', () => {
    expect(linesIn({ b: ['x\ny\n'], a: 1 })).toEqual([
      [0, '{'],
      [1, '"a": 1,'],
      [1, '"b": ['],
      [2, '"x\\n'],
      [2, 'y\\n'],
      [2, '"'],
      [1, ']'],
      [0, '}'],
    ]);
  });

  it.each<Json>(['a\\nb', 'a\\\nb', '\\', '\n', '\\n\n', { 'a\nb': 1 }])('lose no part of %j', (value) => {
    const text = linesIn(value)
      .map(([, line]) => line)
      .join('');
    expect(JSON.parse(text)).toEqual(value);
    const breaks = typeof value === 'string' ? value.split('\n').length : 3;
    expect(linesIn(value)).toHaveLength(breaks);
  });

  it('are found in megabytes', () => expect(linesIn('x\n'.repeat(500_000))).toHaveLength(500_001));
});
