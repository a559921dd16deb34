import { describe, expect, it } from '@jest/globals';
import { differencesIn } from '../../../apps/approvals/inbox/alike.ts';
import { summaryOf } from '../../../apps/approvals/inbox/summary.tsx';
import { isSummaryTemplate } from '../../../apps/shared/approvers/summary-template.ts';
import { sha256 } from '../../../apps/shared/crypto.ts';
import { outlineOf } from '../../../workflows/domain/access-request/outline.ts';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';

const outlined = (args: JsonObject) => {
  const outline = outlineOf(args, sha256);
  if (outline === undefined) throw new Error('there is no outline');
  return { outline };
};
const requests = (...all: JsonObject[]) => all.map((args, at) => ({ id: `r${at}`, ...outlined(args) }));
/** The requests that stand out, with the arguments in which they do. */
const odd = (...all: JsonObject[]) =>
  [...differencesIn(requests(...all)).outliers].map(([id, paths]) => `${id} ${[...paths.keys()].join()}`);

describe('requests of one kind', () => {
  it('have arguments in common and arguments that differ', () => {
    const found = differencesIn(requests({ a: 1, b: 'x' }, { a: 1, b: 'y' }));
    expect({ paths: found.paths, common: found.common.map(({ path }) => path) }).toEqual({
      paths: ['b'],
      common: ['a'],
    });
  });

  it.each([
    ['one value among equal ones', [{ b: 'main' }, { b: 'main' }, { b: 'prod' }, { b: 'main' }], ['r2 b']],
    ['another folder', [{ p: '/a/1' }, { p: '/a/2' }, { p: '/etc/passwd' }], ['r2 p']],
    ['a path that climbs', [{ p: '/a/1' }, { p: '/a/2' }, { p: '/a/../b' }], ['r2 p']],
    ['another domain', [{ to: 'a@x.example' }, { to: 'b@x.example' }, { to: 'c@y.example' }], ['r2 to']],
    ['a number far above the others', [{ n: 100 }, { n: 120 }, { n: 9_000 }], ['r2 n']],
    ['a number far below the others', [{ n: 100 }, { n: 120 }, { n: -1 }], ['r2 n']],
    ['a text where the others have numbers', [{ n: 1 }, { n: 2 }, { n: '3' }], ['r2 n']],
    ['a long text among short ones', [{ t: 'aa' }, { t: 'bb' }, { t: 'c'.repeat(40) }], ['r2 t']],
    ['a missing argument', [{ a: 1, f: true }, { a: 2, f: true }, { a: 3 }], ['r2 f']],
    [
      'two arguments of one request',
      [
        { a: 1, b: 'x' },
        { a: 1, b: 'x' },
        { a: 2, b: 'y' },
      ],
      ['r2 a,b'],
    ],
  ])('mark %s', (_name, all, expected) => {
    expect(odd(...(all as JsonObject[]))).toEqual(expected);
  });

  it.each([
    ['there are only two', [{ b: 'main' }, { b: 'prod' }]],
    ['all values differ alike', [{ p: '/a/1' }, { p: '/a/2' }, { p: '/a/3' }]],
    ['half have one value and half another', [{ b: 'x' }, { b: 'x' }, { b: 'y' }, { b: 'y' }]],
  ])('mark nothing where %s', (_name, all) => {
    expect(odd(...(all as JsonObject[]))).toEqual([]);
  });

  it('compare long texts in full', () => {
    const same = 'x'.repeat(900);
    expect(odd({ t: same }, { t: same }, { t: `${same.slice(1)}y` })).toEqual(['r2 t']);
  });
});

describe('a sentence for a call', () => {
  const words = (args: JsonObject, template?: string) =>
    summaryOf({ tool: 'a__tool', ...outlined(args) }, template).map((part) =>
      'words' in part ? part.words : 'tool' in part ? part.tool : part.leaf.json,
    );

  it('has the arguments of its template, with the path of rules', () => {
    expect(words({ a: { b: 'x' } }, 'Move {a.b}!')).toEqual(['Move ', '"x"', '!']);
  });

  it('is the tool and its arguments, if one of the template is missing', () => {
    expect(words({ a: 1 }, 'Move {b}')).toEqual(['a__tool', '1']);
  });

  it.each(['Write {path}', 'Nothing to fill in', '{a}{b.c}'])('can be written as %s', (template) => {
    expect(isSummaryTemplate(template)).toBe(true);
  });

  it.each(['Write {path', 'Write path}', 'Write {{path}}', 'Write {}', 'Write { }'])(
    'cannot be written as %s',
    (template) => {
      expect(isSummaryTemplate(template)).toBe(false);
    },
  );
});
