// cspell:disable -- letters that look like others, and words of other languages
import { describe, expect, it } from '@jest/globals';
import { looksLikeAscii, skeleton } from '../../../../apps/shared/pages/confusables/skeleton.ts';
import { visiblePieces, visibleTitle, type Piece } from '../../../../apps/shared/pages/visible-text.ts';

const shown = (text: string) =>
  visiblePieces(text)
    .map((piece) => piece.text)
    .join('');
/** Drawn without code points though of one skeleton: every font distinguishes them, as it does I from l. */
const KNOWN_APART: readonly (readonly string[])[] = [
  ['Í', 'ĺ'],
  ['Θ', 'θ'],
  ['‘', '’'],
  ['“', '”'],
];
/** `kind:text`, with a plus where the code points stand beside it. */
const inShort = ({ kind, text, isSpelledOut }: Piece) => `${kind}${isSpelledOut ? '+' : ''}:${text}`;
const kinds = (text: string) => visiblePieces(text).map(inShort);
const kindsInJson = (text: string) => visiblePieces(JSON.stringify(text), 'json').map(inShort);
/** Every character beyond ASCII that is drawn unchanged, without its code point, with the piece that it is drawn as. */
function drawnCharacters(): [string, Piece][] {
  const drawn: [string, Piece][] = [];
  for (let point = 0x80; point <= 0x10ffff; point += 1) {
    const one = String.fromCodePoint(point);
    if (/\p{C}/u.test(one)) continue;
    const [piece] = visiblePieces(one);
    if (piece !== undefined && piece.kind !== 'escape' && !piece.isSpelledOut) drawn.push([one, piece]);
  }
  return drawn;
}

describe('foreign text on a page', () => {
  it.each([
    ['a right-to-left override', 'invoice\u202efdp.exe', 'invoice\\u202efdp.exe'],
    ['isolates', '\u2066a\u2069', '\\u2066a\\u2069'],
    ['zero width characters', 'a\u200bb\u200dc\ufeff', 'a\\u200bb\\u200dc\\ufeff'],
    ['tag characters', 'a\u{e0041}b', 'a\\udb40\\udc41b'],
    ['controls', 'a\u0000b\u001b[31m\u007f\u0085', 'a\\u0000b\\u001b[31m\\u007f\\u0085'],
    ['line breaks', 'a\nb\u2028c', 'a\\u000ab\\u2028c'],
    ['blanks that are not blanks', 'a\u00a0b\u3000c', 'a\\u00a0b\\u3000c'],
    ['invisible fillers', 'a\u3164b\u2800c', 'a\\u3164b\\u2800c'],
    ['private characters', 'a\ue000b', 'a\\ue000b'],
    ['half of a character', 'a\ud800b', 'a\\ud800b'],
    ['a mark on a letter that is written with it as one', 'cafe\u0301', 'cafe\\u0301'],
    ['a flood of combining marks', 'क\u0301\u0302\u0303\u0304', 'क\u0301\u0302\\u0303\\u0304'],
  ])('shows %s as escapes', (_name, text, expected) => {
    expect(shown(text)).toBe(expected);
    expect(visiblePieces(text)).toContainEqual(expect.objectContaining({ kind: 'escape' }));
  });

  it.each(['', 'plain text: {"a": 1}', 'Grüße aus Zürich, 20 °C', 'un café à Nîmes', 'Dvořák, Łódź, Việt Nam'])(
    'leaves %p unchanged',
    (text) => expect(kinds(text)).toEqual(text === '' ? [] : [`plain:${text}`]),
  );

  it.each([
    ['Привет, мир: у нас всё хорошо, и мы рады', ['calm:Привет', 'calm:у', 'calm:хорошо', 'calm:и']],
    ['Ελλάδα', ['calm:Ελλάδα']],
    ['नमस्ते दुनिया', ['calm+:नमस्ते दुनिया']],
    ['東京，大阪 🎉', ['calm+:東京，大阪 🎉']],
    ['שלום עולם 1000', ['calm+:שלום עולם', 'plain: 1000']],
    ['Done ⚠️', ['plain:Done ', 'calm+:⚠️']],
    ['it’s “fine”', ['calm:’', 'calm:“', 'calm:”']],
  ])('marks %p calmly', (text, some) => {
    expect(kinds(text)).toEqual(expect.arrayContaining(some));
    expect(kinds(text).filter((one) => /^(alike|escape|edge)/.test(one))).toEqual([]);
  });

  it.each([
    ['to \u0430cct-991 and acct', ['plain:to ', 'alike+:\u0430cct', 'plain:-991 and acct']],
    ['сосо.com', ['alike+:сосо', 'plain:.com']],
    ['Привет, сосо.com', ['calm:Привет', 'plain:, ', 'alike+:сосо', 'plain:.com']],
    ['𝚊𝚍𝚖𝚒𝚗', ['alike+:𝚊𝚍𝚖𝚒𝚗']],
    ['ls\u037erm', ['plain:ls', 'alike+:\u037e', 'plain:rm']],
    ['ⅰⅴ', ['alike+:ⅰⅴ']],
    ['ɑdmin', ['alike+:ɑ', 'plain:dmin']],
    ['a․b∕c⁄d', ['plain:a', 'alike+:․', 'plain:b', 'alike+:∕', 'plain:c', 'alike+:⁄', 'plain:d']],
    ['օո', ['alike+:օո']],
    ['Moсква', ['alike+:Moсква']],
    ['ФГ', ['alike+:ФГ']],
  ])('marks %p as a lookalike', (text, pieces) => expect(kinds(text)).toEqual(pieces));

  it('shows every run of blanks, and every blank at an end', () => {
    expect(kinds(' a b  c ')).toEqual(['edge: ', 'plain:a b', 'blanks:  ', 'plain:c', 'edge: ']);
    expect(kinds(`a${' '.repeat(40)}b`)).toEqual(['plain:a', `edge:${' '.repeat(40)}`, 'plain:b']);
    expect(kindsInJson('  a b ')).toEqual(['plain:"', 'edge:  ', 'plain:a b', 'edge: ', 'plain:"']);
    expect(visiblePieces('    return x; \\n', 'json').map(inShort)).toEqual([
      ...['blanks:    ', 'plain:return x;', 'edge: ', 'plain:\\n'],
    ]);
  });

  it('distinguishes an escape of JSON from the letters of one', () => {
    expect(kindsInJson('\u001b[m \\u001b \r\b\f \t\n')).toEqual([
      ...['plain:"', 'escape:\\u001b', 'plain:[m \\\\u001b ', 'escape:\\r\\b\\f'],
      ...['plain: \\t\\n"'],
    ]);
  });

  it('has no mark in a title, and escapes misleading characters there', () => {
    expect(visibleTitle('сосо\u202e Zürich')).toBe('\\u0441\\u043e\\u0441\\u043e\\u202e Zürich');
  });

  it('marks every character whose skeleton is ASCII, and spells out lookalikes and characters that a font may lack', () => {
    const drawn = drawnCharacters();
    expect(drawn.length).toBeGreaterThan(400);
    expect(drawn.filter(([one, { kind }]) => kind === 'plain' && looksLikeAscii(one))).toEqual([]);
    const byLook = new Map<string, string[]>();
    for (const [one, { says = '' }] of drawn) {
      const look = `${says} ${skeleton(one)}`;
      byLook.set(look, [...(byLook.get(look) ?? []), one]);
    }
    expect([...byLook.values()].filter((characters) => characters.length > 1)).toEqual(KNOWN_APART);
  });

  it('loses no part of any text', () => {
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

  it('handles a megabyte', () => {
    expect(shown('\u0430b'.repeat(500_000))).toHaveLength(1_000_000);
    expect(shown(' \u0430'.repeat(200_000))).toHaveLength(400_000);
    expect(shown('\u202e'.repeat(200_000))).toHaveLength(1_200_000);
  });
});
