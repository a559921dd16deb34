import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  covers,
  MAX_OPEN_VALUES,
  openValues,
  scopeOf,
  shapeOf,
  type Choice,
} from '../../../../apps/approvals/grants/scope.ts';
import type { Json, JsonObject } from '../../../../workflows/domain/canonical-json.ts';

const CALL = {
  path: '/srv/app/a.txt',
  lines: 3,
  force: false,
  target: { branch: 'main' },
  tags: ['x', 'y'],
  note: null,
};

const exact = { kind: 'exact' } as const;
const any = { kind: 'any' } as const;
const begins = (text: string): Choice => ({ kind: 'begins', text });

/** The scope with these choices by path. The other values stay as they are. */
function scope(choices: Readonly<Record<string, Choice>>, call: JsonObject = CALL) {
  const found = scopeOf(
    call,
    openValues(call).map(({ path }) => choices[path] ?? exact),
  );
  if (found === undefined) throw new Error('the choices do not cover the call');
  return found;
}

describe('the values that a grant can leave open', () => {
  it('are the single values of named members, in the order of the canonical arguments', () => {
    expect(openValues(CALL)).toEqual([
      { path: 'force', value: false },
      { path: 'lines', value: 3 },
      { path: 'path', value: '/srv/app/a.txt' },
      { path: 'target.branch', value: 'main' },
    ]);
  });

  it('are none that a condition cannot name', () => {
    const call = JSON.parse('{"a.b":"x","":"x","__proto__":"x","n":0.12345,"deep":{"c.d":1}}') as JsonObject;
    expect(openValues(call)).toEqual([]);
    expect(covers({ shape: shapeOf(call), conditions: {} }, call)).toBe(true);
    expect(covers({ shape: shapeOf(call), conditions: {} }, { ...call, n: 0.12346 })).toBe(false);
  });
});

describe('the scope of a grant', () => {
  it.each<[string, Readonly<Record<string, Choice>>, JsonObject]>([
    ['the same call', {}, CALL],
    ['another value where any is good', { path: any }, { ...CALL, path: '/etc/passwd' }],
    ['another member of an object', { 'target.branch': any }, { ...CALL, target: { branch: 'dev' } }],
    ['the same beginning', { path: begins('/srv/app/') }, { ...CALL, path: '/srv/app/b/c.txt' }],
    ['the folder itself', { path: begins('/srv/app/') }, { ...CALL, path: '/srv/app' }],
    ['another spelling of a path in the folder', { path: begins('/srv/app') }, { ...CALL, path: '//srv/./app//b/' }],
    ['an empty text where any is good', { path: any }, { ...CALL, path: '' }],
  ])('covers %s', (_what, choices, call) => {
    expect(covers(scope(choices), call)).toBe(true);
  });

  it.each<[string, Readonly<Record<string, Choice>>, Json]>([
    ['a value with one character more', {}, { ...CALL, path: '/srv/app/a.txt2' }],
    ['a value in other letters', {}, { ...CALL, path: '/srv/app/A.txt' }],
    ['a number beside it', {}, { ...CALL, lines: 3.0001 }],
    ['the other truth', {}, { ...CALL, force: true }],
    ['a folder whose name only begins alike', { path: begins('/srv/app') }, { ...CALL, path: '/srv/apples/a.txt' }],
    ['a path that only the server knows', { path: begins('/srv/app') }, { ...CALL, path: 'srv/app/a.txt' }],
    ['a path in another case', { path: begins('/srv/app') }, { ...CALL, path: '/srv/App/a.txt' }],
    ['a path that leads out of its beginning', { path: begins('/srv/app/') }, { ...CALL, path: '/srv/app/../../etc' }],
    ['a text in place of a number', { lines: any }, { ...CALL, lines: '3' }],
    ['a list in place of a text', { path: any }, { ...CALL, path: ['/srv/app/a.txt'] }],
    ['`null` in place of a text', { path: any }, { ...CALL, path: null }],
    ['one more argument', { path: any }, { ...CALL, mode: 'x' }],
    ['one more member of an object', { path: any }, { ...CALL, target: { branch: 'main', force: true } }],
    ['one argument less', { path: any }, Object.fromEntries(Object.entries(CALL).filter(([name]) => name !== 'note'))],
    ['a list with another entry', { path: any }, { ...CALL, tags: ['x', 'z'] }],
    ['a list in another order', { path: any }, { ...CALL, tags: ['y', 'x'] }],
  ])('does not cover %s', (_what, choices, call) => {
    expect(covers(scope(choices), call as JsonObject)).toBe(false);
  });

  it.each<[string, readonly Choice[]]>([
    ['a choice is missing', [any, any, any]],
    ['a choice is left over', [any, any, any, any, any]],
    ['a beginning is not that of the value', [any, any, begins('/etc/'), any]],
    ['a beginning is empty', [any, any, begins(''), any]],
    ['a beginning is for a number', [any, begins('3'), any, any]],
    ['a beginning is no whole folder', [any, any, begins('/srv/ap'), any]],
    ['a beginning is the root', [any, any, begins('/'), any]],
    ['a beginning leads upwards', [any, any, begins('/srv/x/..'), any]],
  ])('cannot be made if %s', (_what, choices) => {
    expect(scopeOf(CALL, choices)).toBeUndefined();
  });

  it('takes stars in a beginning as they are', () => {
    const grant = scope({ path: begins('a*') }, { path: 'a*b' });
    expect(covers(grant, { path: 'a*c' })).toBe(true);
    for (const path of ['ab', 'a', 'xa*']) expect(covers(grant, { path })).toBe(false);
    expect(scopeOf({ path: 'ab' }, [begins('a\\')])).toBeUndefined();
  });

  it('of an address is a host or a folder of it', () => {
    const call = { url: 'https://docs.test/a/b?x=1' };
    const covered = (text: string, url: string) => covers(scope({ url: begins(text) }, call), { url });
    for (const url of ['https://docs.test/', 'https://DOCS.test:443/x', 'https://docs.test./a'])
      expect([url, covered('https://docs.test', url)]).toEqual([url, true]);
    for (const url of [
      ...[
        'https://docs.test.evil.test/',
        'https://docs.test@evil.test/',
        'http://docs.test/',
        'https://docs.test:444/',
      ],
      ...['https://docs.test\\@evil.test/', 'https:docs.test/', 'docs.test/a'],
    ])
      expect([url, covered('https://docs.test', url)]).toEqual([url, false]);
    expect(covered('https://docs.test/a/', 'https://docs.test/a')).toBe(true);
    for (const url of [
      'https://docs.test/b',
      'https://docs.test/ab',
      'https://docs.test/a/../b',
      'https://docs.test/a/%2e%2e/b',
    ])
      expect([url, covered('https://docs.test/a', url)]).toEqual([url, false]);
    for (const text of ['https://', 'https://docs', 'https://docs.tes', 'https://docs.test/a/b/c', ''])
      expect([text, scopeOf(call, [begins(text)])]).toEqual([text, undefined]);
  });

  it('covers nothing if its conditions cannot be read', () => {
    const broken = { ...scope({ path: any }), conditions: { path: { similar: 'x' } } };
    expect(covers(broken as never, CALL)).toBe(false);
  });

  it('with exact values covers one call and no other', () => {
    const value = fc.oneof(
      fc.string(),
      fc.integer(),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.boolean(),
      fc.constant(null),
    );
    const args = fc.dictionary(
      fc.constantFrom('a', 'b', 'c.d', 'e'),
      fc.oneof(value, fc.array(value), fc.dictionary(fc.constantFrom('a', 'b'), value)),
      { maxKeys: 3 },
    );
    fc.assert(
      fc.property(args, args, (one, other) => {
        const [call, another] = [one, other].map((of) => JSON.parse(JSON.stringify(of)) as JsonObject) as [
          JsonObject,
          JsonObject,
        ];
        const grant = scopeOf(
          call,
          openValues(call).map(() => exact),
        );
        expect(grant !== undefined && covers(grant, call)).toBe(true);
        expect(grant !== undefined && covers(grant, another)).toBe(
          JSON.stringify(sorted(call)) === JSON.stringify(sorted(another)),
        );
      }),
    );
  });

  it('is offered for a bounded number of values', () => {
    expect(MAX_OPEN_VALUES).toBe(50);
  });
});

const sorted = (value: Json): Json =>
  typeof value !== 'object' || value === null || Array.isArray(value)
    ? value
    : Object.fromEntries(
        Object.entries(value)
          .sort()
          .map(([name, member]) => [name, sorted(member)]),
      );
