// cspell:disable -- letters that look like others
import { canonicalJson, type Json } from '../../workflows/domain/canonical-json.ts';
import { createChance, type Chance } from '../histories/chance.ts';
import { ALIKE, BLANKS, CONTROLS, FOREIGN, MARKS, UNSEEN } from './characters.ts';

/** Two different calls, by the RFC 8785 texts of their arguments, and their difference. */
export interface Pair {
  readonly kind: string;
  readonly left: string;
  readonly right: string;
}

const WORDS = 'rm -rf /srv/backup admin transfer to acct-991 pay.example.com the quick fox --force'.split(' ');
const PROSE = 'Привет мир хорошо Ελλάδα Grüße Zürich naïve 東京タワー שלום مرحبا नमस्ते 안녕 🎉 it’s'.split(' ');

type Change = (text: string, at: number, chance: Chance) => string;
const put = (text: string, at: number, what: string, length = 0) => text.slice(0, at) + what + text.slice(at + length);
const insert =
  (list: readonly string[]): Change =>
  (text, at, chance) =>
    put(text, at, chance.oneOf(list));

const CHANGES: Readonly<Record<string, Change>> = {
  'an extra character': insert([...'abl1I0O.,;/-_ "\\\'{}[]:']),
  'a missing character': (text, at) => put(text, at, '', 1),
  'another character': (text, at, chance) => put(text, at, chance.oneOf([...'abl1I0Oz./- ']), 1),
  'two characters swapped': (text, at) => put(text, at, (text[at + 1] ?? '') + (text[at] ?? ''), 2),
  'an extra blank': insert(BLANKS),
  'another kind of blank': (text, at, chance) => put(text, text.indexOf(' ', at), chance.oneOf(BLANKS), 1),
  'a missing blank': (text, at) => put(text, text.indexOf(' ', at), '', 1),
  'a blank at the end': (text, _at, chance) => (chance.happens(0.5) ? `${text} ` : ` ${text}`),
  'a blank before the last character': (text) => put(text, text.length - 1, ' '),
  'an invisible character': insert(UNSEEN),
  'a control character': insert(CONTROLS),
  'a control character, and its escape in letters': (text, at, chance) =>
    put(text, at, chance.oneOf(['\\u001b', '\\r', '\\n', '\\u202e', '\\u00a0', 'U+0441', 'U+200B'])),
  'a combining mark': insert(MARKS),
  'a letter in another case': (text, at) =>
    put(
      text,
      at,
      text[at] === text[at]?.toUpperCase() ? (text[at]?.toLowerCase() ?? '') : (text[at]?.toUpperCase() ?? ''),
      1,
    ),
};

/** A text as tools get it: a command, an unfinished path, prose, code, other languages. */
function someText(chance: Chance): string {
  const several = (count: number, list: readonly string[]) =>
    Array.from({ length: count }, () => chance.oneOf(list)).join(' ');
  return chance.weighted<() => string>([
    [3, () => `rm -rf /srv/backup/${chance.oneOf([...'dlI0'])}`.padEnd(24 + chance.below(90), 'd') + '/'],
    [3, () => several(4 + chance.below(20), WORDS)],
    [2, () => several(2 + chance.below(8), [...PROSE, ...WORDS])],
    [2, () => `if (x) {\n${' '.repeat(chance.below(6))}run("${several(3, WORDS)}");\n}\n`],
    [1, () => 'x'.repeat(20 + chance.below(80))],
    [1, () => chance.oneOf(WORDS)],
  ])();
}

/** The text within a tool's arguments. */
function around(text: string, chance: Chance): Json {
  return chance.weighted<Json>([
    [4, { command: text, cwd: '/srv' }],
    [2, { [text]: 1 }],
    [2, { list: ['a', text, 'b'] }],
    [1, { a: { b: { c: { d: { e: [text] } } } } }],
    [1, text],
    [2, { path: 'a.ts', content: `const a = 1;\n${text}\n\treturn a;\n` }],
    [2, { edits: [{ oldText: `one\n${text}\nthree`, newText: 'one\nthree' }], path: 'a.txt' }],
    [1, { oldText: `one\n${text}`, newText: `${text}\ntwo` }],
    [
      1,
      {
        rows: [
          { to: text, amount: 1 },
          { to: 'b', amount: 2 },
        ],
      },
    ],
    [1, { query: `select a from b where c = '${text}'` }],
    [1, { inner: JSON.stringify({ a: [text], b: 1 }) }],
  ]);
}

/** Two texts that differ in one character. */
function exchanged(pairs: readonly (readonly string[])[], chance: Chance): [string, string] {
  const [one = '', ...others] = chance.oneOf(pairs);
  const text = someText(chance);
  const at = chance.below(text.length);
  const times = chance.oneOf([1, 1, 1, 4]);
  return [put(text, at, one.repeat(times)), put(text, at, others.join('').repeat(times))];
}

/** Two texts, one of which has a blank before a character wider than a blank, wherever a line may end. */
function blankBeforeWide(chance: Chance): [string, string] {
  const wide = chance.oneOf([...UNSEEN, ...CONTROLS, ...ALIKE.map(([, other = '']) => other), ...FOREIGN.flat()]);
  const start = chance.happens(0.5) ? someText(chance).trimEnd() : 'd'.repeat(4 + chance.below(110));
  return [`${start}${wide}x`, `${start} ${wide}x`];
}

/** A text and its normalized form. */
function normalized(chance: Chance): [string, string] {
  const letter = chance.oneOf([...'éñüçåǖếй가ㅤΆ', 'ﬁ', '²', 'Ω', 'Å', '豈', '¼']);
  const form = chance.oneOf(['NFC', 'NFD', 'NFKC', 'NFKD'] as const);
  const text = put(someText(chance), 2, letter);
  return [text, text.normalize(form)];
}

const VALUES: readonly Json[] = [
  ...[
    0,
    1,
    10,
    1e21,
    1e-7,
    123456789012,
    1234567890123,
    1.5,
    -1,
    true,
    false,
    null,
    '',
    'null',
    '0',
    '1e+21',
    'true',
    ' ',
  ],
  ...[
    [],
    {},
    [[]],
    [{}],
    [''],
    [null],
    [0, 0],
    ['0,0'],
    { '': '' },
    { a: '' },
    { a: null },
    { a: {} },
    { ' ': 1 },
    { a: 1, b: 2 },
  ],
  ...[
    { a: { b: 2 } },
    { 'a": 1, "b': 2 },
    { a: 1, 'b ': 2 },
    ['a', 'b'],
    ['a, b'],
    ['a", "b'],
    [['a'], 'b'],
    '{}',
    '[]',
    'a\nb',
    'a\\nb',
    'a\n',
    'a\n\n',
    'a\r\nb',
    '\ta',
    '    a',
    '{"a":1}',
    '{"a": 1}',
    '[1,"1"]',
    'list of 2',
    'empty text',
  ],
  ...[
    [{ a: 1 }, { a: 2 }],
    [{ a: 1 }, { a: '2' }],
    [{ a: 1 }, { b: 2 }],
    [{ a: 1, b: 1 }, { a: 2 }],
    { oldText: 'a', newText: 'b' },
    { oldText: 'a\n', newText: 'b' },
    { oldText: 'b', newText: 'a' },
    { oldText: '', newText: 'b' },
    { oldText: 'a', newText: '' },
    { old_string: 'a', new_string: 'b' },
    { '0': 'a', '1': 'b' },
  ],
];

function structures(chance: Chance): [Json, Json] {
  const wrap = (value: Json, levels: number): Json => (levels === 0 ? value : wrap([value], levels - 1));
  const levels = chance.oneOf([0, 0, 1, 3, 14, 40]);
  const [one, other] = [chance.oneOf(VALUES), chance.oneOf(VALUES)];
  if (chance.happens(0.2)) return [{ v: wrap(one, levels) }, { v: wrap(one, levels + 1) }];
  return [{ v: wrap(one, levels) }, { v: wrap(other, levels) }];
}

function draw(chance: Chance): { readonly kind: string; readonly values: readonly [Json, Json] } {
  const texts = (kind: string, [one, other]: readonly [string, string]) => {
    const seed = String(chance.below(2 ** 31));
    const values = [around(one, createChance(seed)), around(other, createChance(seed))] as const;
    return { kind, values };
  };
  return chance.weighted<() => ReturnType<typeof draw>>([
    [
      6,
      () => {
        const [kind, change] = chance.oneOf(Object.entries(CHANGES));
        const text = someText(chance);
        return texts(kind, [text, change(text, chance.below(text.length), chance)]);
      },
    ],
    [3, () => texts('lookalikes', exchanged(ALIKE, chance))],
    [3, () => texts('other letters and signs', exchanged(FOREIGN, chance))],
    [1, () => texts('normalization', normalized(chance))],
    [2, () => texts('a blank before a wide character', blankBeforeWide(chance))],
    [2, () => ({ kind: 'numbers, names and nesting', values: structures(chance) })],
  ])();
}

/** This many pairs of calls that differ in the executed arguments, the same for the same seed. */
export function pairsOf(seed: string, count: number): Pair[] {
  const chance = createChance(seed);
  const pairs: Pair[] = [];
  while (pairs.length < count) {
    const { kind, values } = draw(chance);
    if (values.some(hasHalfCharacter)) continue;
    const [left, right] = [canonicalJson(values[0]), canonicalJson(values[1])];
    if (left !== right) pairs.push({ kind, left, right });
  }
  return pairs;
}

/** A change may have cut a character in two: such a text has no canonical form, so no call has it. */
const hasHalfCharacter = (value: Json): boolean => /\\ud[89a-f]/.test(JSON.stringify(value));
