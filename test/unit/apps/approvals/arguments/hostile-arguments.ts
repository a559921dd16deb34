// cspell:disable -- letters that look like others, and pieces of programs
import { createPatch } from 'diff';
import type { Json } from '../../../../../workflows/domain/canonical-json.ts';
import { ALIKE, BLANKS, CONTROLS, FOREIGN, MARKS, UNSEEN } from '../../../../pixels/characters.ts';
import { times } from '../../../../support/regime.ts';

const PICTURE = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(60, 7)]).toString('base64');
const BYTES = Buffer.alloc(800, 200).toString('base64');
const PATCH = createPatch('a.txt', 'one\ntwo\nthree\n', 'one\n2\nthree\nfour\n');

/** Texts that imitate the page, break lines in odd places, or are almost something for which the page has a form. */
export const TEXTS: readonly string[] = [
  ...[
    '',
    ' ',
    '  ',
    '\t',
    '\n',
    '\n\n',
    '\r\n',
    '\r',
    ' \n ',
    'a\n',
    '\na',
    'a\r\nb\r\n',
    'a \nb',
    ' a',
    'a ',
    '\ta',
    'a\t',
    ' \t ',
    '\t \t',
  ],
  ...['1', '0', '-0', 'true', 'null', '1e21', '{}', '[]', '[1]', '""', '"1"', '“1”', '“', '”', '‘’', "'1'", '1,234'],
  ...[
    'empty text',
    'only blanks',
    'empty list',
    'no members',
    'list of 2',
    'as JSON',
    'text, 2 lines',
    'empty name',
    'becomes',
  ],
  ...[
    '+ added',
    '- removed',
    '  kept',
    '+',
    '-',
    '1 first\n2 second',
    '   1 | a\n   2 | b',
    '1. a',
    '➕',
    '− a',
    '⇥',
    '→',
    '·',
    '···',
  ],
  ...[
    '\\',
    '\\\\',
    '\\n',
    '\\t',
    '\\u200b',
    '\\"',
    '"',
    '"a',
    'a"',
    'a": 1, "b',
    '},\n"b": {',
    'U+0430',
    '"p" U+0430 "y"',
  ],
  ...[
    '</bdi></pre>',
    '<span class="quote">”</span>',
    '<li>',
    '<details>',
    '&amp;',
    '&lt;',
    '&#10;',
    '<!--',
    ']]>',
    '<script>alert(1)</script>',
  ],
  ...[
    '{"a":1}',
    '{"a": 1}',
    '{"a":"\u200b"}',
    '{"a":"\\u200b"}',
    '{"10":1,"9":2}',
    '{"9":1,"10":2}',
    '{"a":1,"a":2}',
    '[1,2]',
    '[1, 2]',
    '{"a":"\\n"}',
  ],
  ...['{"__proto__":1}', '["\ud83d\ude00"]', '["\\ud83d"]', '{"a":{"b":[]}}', '{"a":1}\n', '[[[[[[[[[[1]]]]]]]]]]'],
  ...[
    PATCH,
    PATCH.trimEnd(),
    `${PATCH}+ more\n`,
    PATCH.replace('@@ -1,3 +1,4 @@', '@@ -1,3 +1,9 @@'),
    '@@ -1 +1 @@\n-a\n+b',
    '@@ -1,0 +1 @@\n+ a',
  ],
  ...[
    '@@ -1,2 +1,2 @@',
    '@@ -1,2 +1,2 @@\n a\n-\n+\n',
    '--- a\n+++ b\n',
    '*** Begin Patch\n*** End Patch',
    '@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n',
  ],
  ...[
    PICTURE,
    `${PICTURE} `,
    PICTURE.slice(0, -4),
    `data:image/png;base64,${PICTURE}`,
    `data:text/html;base64,${PICTURE}`,
    BYTES,
    BYTES.slice(0, 900),
    `${BYTES}\n`,
  ],
  ...[
    'SELECT 1 -- \nDROP TABLE t',
    'select a from "b" where c = \'d\'',
    '/* a */ update t set a = 1',
    '#!/bin/sh\nrm -rf /\n',
    'const a = `b${c}`;\n// d\n',
    '<?xml version="1.0"?>\n<a b="c"/>',
  ],
  ...[
    'def f():\n\treturn "a"\n',
    'a: 1\nb:\n  - c\n',
    '[a]\nb = "c"\n',
    'e\u0301 \u00e9',
    '👨‍👩‍👧',
    '👨👩👧',
    'x'.repeat(300),
    `${'x '.repeat(150)}\n${'y'.repeat(150)}`,
  ],
];

export const NAMES: readonly string[] = [
  ...[
    '',
    ' ',
    '0',
    '1',
    '10',
    '9',
    '1.',
    '[0]',
    'a.b',
    'a"b',
    "a'b",
    'a b',
    'a:',
    'a,b',
    '“a”',
    'list of 2',
    'a\nb',
    'a\tb',
    'a\u200b',
    '\u0430',
    'e\u0301',
  ],
  ...[
    'oldText',
    'newText',
    'old_string',
    'new_string',
    'oldString',
    'newString',
    'old_str',
    'new_str',
    'oldtext',
    'edits',
    'becomes',
  ],
  ...[
    'path',
    'file',
    'url',
    'query',
    'sql',
    'command',
    'language',
    'content',
    'patch',
    'data',
    'password',
    'token',
    'headers',
  ],
  ...['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'then', 'length', 'key', 'children', 'ref'],
];

export const PATHS = [
  'a.ts',
  'b.py',
  '/c.sql',
  'd.json',
  'e.yaml',
  'f.html',
  'g',
  'https://h.example/i.css',
  'j.rs\u200b',
  'sql',
  'python',
];
const NUMBERS = [0, 1, -1, 10, 1.5, 1e21, 1e-7, 5e-324, 1.7976931348623157e308, 9_007_199_254_740_992, 123_456_789];
export const SCALARS: readonly Json[] = [...NUMBERS, true, false, null];
export const CHARACTERS = [
  ...BLANKS,
  ...UNSEEN,
  ...CONTROLS,
  ...MARKS,
  ...[...ALIKE, ...FOREIGN].flat(),
  ...'ab01lIO.,;:/\\"\'`-+_{}[]()<>=|&#@$%',
];

/** Each hostile text in each place where the page has a form of its own. */
const PLACES: readonly ((text: string) => Json)[] = [
  (text) => text,
  (text) => ({ [text]: text }),
  (text) => [text, [text]],
  (text) => ({
    path: 'a.ts',
    content: text,
    edits: [
      { oldText: text, newText: `${text}\n` },
      { oldText: 'a', newText: text },
    ],
  }),
  (text) => ({
    rows: [
      { a: text, b: 1 },
      { a: '1', b: text },
    ],
    more: [{ a: text }, { a: text, b: null }],
  }),
];

const CHAIN = Array.from({ length: 30 }).reduce<Json>((inner) => [{ '0': inner }], 'deep');
const EXTREMES: readonly Json[] = [
  ...SCALARS,
  ...[[], {}, [[]], [{}], [[], {}], { a: [] }, { a: {} }, [[[]], [[]]], [null], [''], { '': '' }, { '': {} }, CHAIN],
  ...[{ '0': 'a', '1': 'b' }, ['a', 'b'], { a: '1', b: 1 }, [1, '1', true, 'true', null, 'null']],
  ...[
    { oldText: 1, newText: 'a' },
    { oldText: '', newText: '' },
    { oldText: 'a' },
    { oldText: 'a', newText: 'a', old_str: 'b', new_str: 'c' },
  ],
  ...[
    [{ a: 1 }, { b: 1 }],
    [{ a: 1 }, { a: {} }],
    [{ a: 1 }, { a: 'b\nc' }],
    [{}, {}],
    [{ __proto__x: 1 }, { __proto__x: 2 }],
  ],
  { crowd: Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`k${at}`, `v${at}`])) },
  { many: Array.from({ length: 6_000 }, (_, at) => at % 7) },
  { line: 'x '.repeat(60_000) },
  { lines: `${'a\n'.repeat(3_000)}b` },
  { oldText: 'a\n'.repeat(2_000), newText: 'b\n'.repeat(2_000) },
  JSON.parse('{"__proto__":{"a":1},"b":[{"__proto__":1},{"__proto__":2}]}') as Json,
];

/** In the suite, each text is in every second place: two or three of the five. */
const placed = (text: string, at: number) =>
  PLACES.filter((_, place) => (at + place) % times(2, 1) === 0).map((place) => place(text));

/** Sets of arguments that were made to deceive. */
export const HOSTILE: readonly Json[] = [...TEXTS.flatMap(placed), ...EXTREMES];
