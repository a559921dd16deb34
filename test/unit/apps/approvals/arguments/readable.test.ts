// cspell:ignore hnull
import { describe, expect, it } from '@jest/globals';
import { tonesOf } from '../../../../../apps/approvals/inbox/arguments/colours.ts';
import { canonicalJson, type Json } from '../../../../../workflows/domain/canonical-json.ts';
import { wordsOf } from '../../../../support/pages.ts';
import { drawn } from './invertible.tsx';

/** What the page shows above and below the switch of the views, as markup. */
const shown = (value: Json) => drawn(canonicalJson(value), undefined);
const words = (value: Json) => wordsOf(shown(value).split('</nav>')[1] ?? '').replaceAll('&quot;', '"');
const isReadable = (value: Json) => shown(value).includes('json readable');
const PICTURE = Buffer.from(`89504e470d0a1a0a${'07'.repeat(90)}`, 'hex').toString('base64');
const PATCH = '@@ -1,2 +1,2 @@\n a\n-b\n+c\n';

describe('the readable view', () => {
  it.each<[string, Json]>([
    ['lines of a text', { content: 'a\nb' }],
    ['a text without the escapes of JSON', { run: 'sh -c "x"' }],
    ['an edit', { oldText: 'a', newText: 'b' }],
    ['a table', { rows: [{ a: 1 }, { a: 2 }] }],
    ['bytes', { picture: PICTURE }],
    ['JSON within a text', { body: '[1,{"a":2}]' }],
    ['a program', { query: 'select a from b' }],
  ])('is the first one where it adds something: %s', (_name, value) => expect(isReadable(value)).toBe(true));

  it.each<Json>([{ path: '/srv/a', count: 1 }, {}, [], 1, 'a', { a: { b: [1, null, true] } }])(
    'is not the first one where it adds nothing: %j',
    (value) => expect(isReadable(value)).toBe(false),
  );

  it('tells a text from a number, and shows what is empty', () => {
    const text = words({ a: '1', b: 1, c: '', d: ' ', e: [], f: {}, g: 'null', h: null, '': '"' });
    for (const part of [
      'a“1”',
      'b1',
      'c“” empty text',
      'd“ ” only blanks',
      'e empty list',
      'f no members',
      'g“null”',
      'null',
    ])
      expect(text).toContain(part);
    expect(text).toContain('empty name“"”');
  });

  it('shows what is beside its name before what needs a block, such as a path before the content', () => {
    expect(words({ content: 'a\nb', mode: 6, path: '/srv/a', zone: { a: 'b' } })).toMatch(/mode.*path.*content.*zone/s);
    expect(words({ newText: 'b', oldText: 'a', path: 'x' })).toMatch(/path.*oldText becomes newText/s);
  });

  it('shows an edit as lines that stay, go and come', () => {
    const value = { edits: [{ oldText: 'a\nb\nc', newText: 'a\nB\nc\n' }] };
    expect(words(value)).toMatch(/oldText becomes newText 1 line removed, 2 added a\n-b\n\+B\n c\n\+\n/);
  });

  it('shows texts that differ in too many lines one after the other', () => {
    const value = { oldText: 'a\n'.repeat(3_000), newText: 'b\n'.repeat(3_000) };
    expect(words(value)).toMatch(/newText text, 3,001 lines.*oldText text, 3,001 lines/s);
  });

  it('marks the lines of a patch, and says so of one that breaks its own rules', () => {
    expect(shown({ patch: PATCH })).toMatch(
      /class="line removed"><bdi[^>]*><[^>]*>-b<.*class="line added"><bdi[^>]*><[^>]*>\+c</s,
    );
    for (const broken of [PATCH.replace('+1,2', '+1,7'), `${PATCH}+d\n`]) {
      const page = shown({ patch: broken });
      expect(page).toContain('it looks like a patch, and is not a valid one');
      expect(page).not.toMatch(/class="line (?:added|removed)"/);
    }
  });

  it('shows bytes by the type that they have, with their text folded', () => {
    const text = words({ picture: `data:text/plain;base64,${PICTURE}` });
    expect(text).toContain('PNG image, 98 bytes, as text in base64Called “data:text/plain;base64,”');
    expect(text).toMatch(/SHA-256 of the bytes: [0-9a-f]{64}The text, 155 characters/);
    expect(words({ path: `/srv/${'directory/'.repeat(60)}`, run: 'a\n' })).not.toContain('base64');
  });

  it('colours programs by name, surroundings and content, and no other text', () => {
    const coloured = (value: Json) => shown(value).includes('tone-');
    expect(coloured({ query: 'SELECT a FROM b' })).toBe(true);
    expect(coloured({ path: 'a.py', content: 'def f():\n  return 1' })).toBe(true);
    expect(coloured({ path: 'a.ts', edits: [{ oldText: 'const a = 1;\nx', newText: 'const a = 2;\nx' }] })).toBe(true);
    expect(coloured({ run: '#!/usr/bin/node\nconst a = 1;' })).toBe(true);
    expect(coloured({ path: 'a.txt', content: 'def f():\n  return 1' })).toBe(false);
    expect(coloured({ note: 'select a good name\nfor it' })).toBe(false);
  });

  it('colours no text that its library needs long for', () => {
    expect(tonesOf(['const a = 1;'], 'typescript').flat().length).toBeGreaterThan(0);
    expect(tonesOf(['e'.repeat(200)], 'typescript')).toEqual([]);
    expect(
      tonesOf(
        Array.from({ length: 2_000 }, () => 'const a;'),
        'typescript',
      ),
    ).toEqual([]);
  });
});
