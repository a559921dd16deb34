// cspell:disable -- letters that look like others, and words of other languages
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { writtenJson, writtenName, writtenText } from '../../../../apps/approvals/channels/written.ts';
import { skeleton } from '../../../../apps/shared/pages/confusables/skeleton.ts';
import { canonicalJson, type Json } from '../../../../workflows/domain/canonical-json.ts';

const written = (value: Json) => writtenJson(canonicalJson(value));
/**
 * A message as the least careful program draws it, to the eye of the least careful reader: runs of blanks are one, blanks at ends are
 * none, invisible characters are none, and each character beyond ASCII looks like its prototype.
 */
const drawn = (text: string) =>
  Array.from(text.normalize('NFKD').replace(/\p{Default_Ignorable_Code_Point}/gu, ''), (one) =>
    /^[ -~]$/.test(one) ? one : skeleton(one),
  )
    .join('')
    .replace(/\s+/gu, ' ')
    .trim();
/** Characters of which some program draws several alike, or none. */
const TRICKY = [
  ...['a', 'b', '6', 'o', 'l', '1', ' ', '  ', '\t', '\n', '\\', '"', '/', ':', '.', 'w', 'u0020', '\\u0020'],
  ...[
    'µ',
    'μ',
    'а',
    'о',
    'б',
    'ы',
    'ь',
    'і',
    'буква',
    'Привет',
    'λόγος',
    'ο',
    'æ',
    'é',
    'e\u0301',
    'ﬁ',
    'ﬀ',
    'Ⅳ',
    '２',
  ],
  ...[
    '🇨',
    '🇭',
    '🇨🇭',
    '❤',
    '❤\ufe0f',
    '☎',
    '☎\ufe0f',
    '👩',
    '👩\u200d🚒',
    '\ufe0f',
    '\u200d',
    '\u200b',
    '\u00ad',
    '\u202e',
  ],
  ...[
    '\u00a0',
    '\u3000',
    '\u2003',
    '–',
    '—',
    '-',
    '‘',
    '’',
    "'",
    '“',
    '…',
    '...',
    '・',
    '·',
    '\ud800',
    '\ue000',
    '\u{e0041}',
  ],
  ...[
    '力',
    'カ',
    '口',
    'ロ',
    'ー',
    '一',
    '工',
    'エ',
    '会議',
    '會',
    '\uf900',
    '豈',
    '한',
    '\u1112\u1161\u11ab',
    'שלום',
    'سلام',
    'नमस्ते',
  ],
];
const tricky = fc.array(fc.oneof(fc.constantFrom(...TRICKY), fc.string({ unit: 'binary', maxLength: 2 })), {
  maxLength: 6,
});
const texts = tricky.map((parts) => parts.join('').toWellFormed());
/** Two texts, mostly with few differences. */
const pairs = fc
  .tuple(tricky, fc.nat(5), fc.constantFrom(...TRICKY, ''))
  .map(([parts, at, other]) => [parts, parts.toSpliced(at, 1, other)] as const)
  .map((both) => both.map((parts) => parts.join('').toWellFormed()) as [string, string]);

describe('a value in a message', () => {
  it('can be read back as JSON', () => {
    fc.assert(
      fc.property(fc.oneof(texts, fc.jsonValue({ stringUnit: 'binary' })), (value) => {
        fc.pre(canonicalOf(value) !== undefined);
        expect(JSON.parse(written(value as Json))).toEqual(JSON.parse(canonicalJson(value as Json)));
      }),
      { numRuns: 1_000 },
    );
  });

  it('differs visibly from every other value', () => {
    fc.assert(
      fc.property(fc.oneof(pairs, fc.tuple(texts, texts)), ([a, b]) => {
        fc.pre(a !== b);
        expect(drawn(written(a))).not.toBe(drawn(written(b)));
        expect(drawn(writtenText(a))).not.toBe(drawn(writtenText(b)));
        expect(drawn(writtenName(a))).not.toBe(drawn(writtenName(b)));
      }),
      { numRuns: 2_000 },
    );
  });

  it('has no address that a program could turn into a link, and no line of its own', () => {
    const address = fc.constantFrom(
      'https://evil.example/',
      'HTTP://evil.example',
      'www.evil.example',
      'WwW.evil',
      'a://b',
    );
    fc.assert(
      fc.property(texts, address, texts, (before, evil, after) => {
        for (const one of [written, writtenText, writtenName])
          expect(one(before + evil + after)).not.toMatch(/:\/\/|www\.|[\r\n\u2028\u2029]/i);
      }),
    );
  });

  it.each([
    ['/srv/files/report.txt', '"/srv/files/report.txt"'],
    ['Zürich, Łódź, Việt Nam', '"Zürich, Łódź, Việt Nam"'],
    ['Привет, мир', '"Привет, мир"'],
    ['会議 한국', '"会議 한국"'],
    ['5 µm', '"5 \\u00b5m"'],
    ['one  two ', '"one\\u0020\\u0020two\\u0020"'],
    ['x\nOpen the request: https://evil.example/', '"x\\nOpen the request: https:\\/\\/evil.example/"'],
    [{ a: ['www.x.example', 1, null, {}] }, '{"a":["www\\u002ex.example",1,null,{}]}'],
  ] as [Json, string][])('%j is written %s', (value, expected) => {
    expect(written(value)).toBe(expected);
  });
});

describe('a name in a message', () => {
  it.each([
    ['alice', 'alice'],
    ['alice@example.com', 'alice@example.com'],
    ['alice for bob', '"alice for bob"'],
    ['spiffe://x/y', '"spiffe:\\/\\/x/y"'],
    ['', '""'],
  ])('%j is written %s', (name, expected) => {
    expect(writtenName(name)).toBe(expected);
  });
});

function canonicalOf(value: unknown): string | undefined {
  try {
    return canonicalJson(value as Json);
  } catch {
    return undefined;
  }
}
