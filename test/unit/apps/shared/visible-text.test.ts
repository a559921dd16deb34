// cspell:ignore Привет नमस्ते שלום עולם Москва
import { describe, expect, it } from '@jest/globals';
import { isPlain, visiblePieces } from '../../../../apps/shared/pages/visible-text.ts';

const shown = (text: string) =>
  visiblePieces(text)
    .map((piece) => piece.text)
    .join('');
const kinds = (text: string) => visiblePieces(text).map(({ kind, text: part }) => `${kind}:${part}`);

describe('foreign text on a page', () => {
  it.each([
    ['a right-to-left override', 'invoice\u202efdp.exe', 'invoice\\u202efdp.exe'],
    ['isolates', '\u2066a\u2069', '\\u2066a\\u2069'],
    ['zero width characters', 'a\u200bb\u200dc\ufeff', 'a\\u200bb\\u200dc\\ufeff'],
    ['tag characters', 'a\u{e0041}b', 'a\\udb40\\udc41b'],
    ['controls', 'a\u0000b\u001b[31m\u007f\u0085', 'a\\u0000b\\u001b[31m\\u007f\\u0085'],
    ['line breaks', 'a\nb\u2028c', 'a\\u000ab\\u2028c'],
    ['blanks that are not blanks', 'a\u00a0b\u3000c', 'a\\u00a0b\\u3000c'],
    ['a filler that looks like nothing', 'a\u3164b', 'a\\u3164b'],
    ['private characters', 'a\ue000b', 'a\\ue000b'],
    ['half of a character', 'a\ud800b', 'a\\ud800b'],
    ['a flood of combining marks', 'e\u0301\u0302\u0303\u0304', 'e\u0301\u0302\\u0303\\u0304'],
  ])('shows %s as escapes', (_name, text, expected) => {
    expect(shown(text)).toBe(expected);
    expect(isPlain(text)).toBe(false);
  });

  it.each(['', 'plain text: {"a": 1}', 'Grüße aus Zürich', 'Привет, мир', 'नमस्ते', '東京 🎉', 'שלום', 'café'])(
    'leaves %p as it is',
    (text) => {
      expect(shown(text)).toBe(text);
      expect(isPlain(text)).toBe(true);
    },
  );

  it('marks a word whose letters come from alphabets that look alike', () => {
    expect(kinds('to \u0430cct-991 and acct')).toEqual(['plain:to ', 'mixed:\u0430cct', 'plain:-991 and acct']);
    expect(isPlain('Москва Moscow')).toBe(true);
  });

  it('sets words from right to left apart from the digits beside them', () => {
    expect(kinds('שלום עולם 1000')).toEqual(['rtl:שלום עולם', 'plain: 1000']);
  });

  it('loses nothing of any text', () => {
    const characters = ['a', '"', '\\', '\u202e', '\u{e0041}', 'é', '\u0301', 'а', 'ש', ' ', '\n', '1', '😀', '\u200d'];
    let seed = 7;
    const next = (limit: number) => (seed = (seed * 48_271) % 2_147_483_647) % limit;
    for (let round = 0; round < 2_000; round += 1) {
      const text = Array.from({ length: next(30) }, () => characters[next(characters.length)]).join('');
      const read = visiblePieces(text).map(({ kind, text: part }) =>
        kind === 'escape' ? (JSON.parse(`"${part}"`) as string) : part,
      );
      expect(read.join('')).toBe(text);
    }
  });

  it('takes a megabyte in its stride', () => {
    expect(shown('\u0430b'.repeat(500_000))).toHaveLength(1_000_000);
    expect(visiblePieces('\u202e'.repeat(200_000))).toHaveLength(200_000);
  });
});
