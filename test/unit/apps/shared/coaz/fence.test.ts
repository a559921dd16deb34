import { describe, expect, it } from '@jest/globals';
import { compileMapping } from '../../../../../apps/shared/coaz/mapping.ts';
import {
  createSlowMappings,
  type MappingTime,
  resolveMapping,
  type SlowMappings,
} from '../../../../../apps/shared/coaz/resolve.ts';
import type { Json, JsonObject } from '../../../../../workflows/domain/canonical-json.ts';
import { mappingTime } from '../../../../support/mapping-time.ts';
import { times } from '../../../../support/regime.ts';
import { ORDINARY_LIMITS } from '../../../../support/time.ts';

/**
 * Processor time, because the machine may stand still: far more than a mapping may take, and far less than these
 * expressions would take without the fence.
 */
const SOON_MS = 20_000;
const processorMs = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
};

const TOKEN = { sub: 'alice' };
const mappingOf = (context: Json): Json => ({
  evaluation: { action: { name: 'a' }, resource: { type: 't', id: 'i' }, context },
});
const run = (expression: string, args: JsonObject) =>
  resolveMapping(
    compileMapping(mappingOf({ leaf: `$${expression}` })),
    { params: { name: 't', arguments: args }, token: TOKEN, identity: 'alice' },
    mappingTime(ORDINARY_LIMITS),
  )[0].context['leaf'];

const A = 'a'.repeat(500_000);
const NUMBERS = Array.from({ length: 10_000 }, (_, index) => index);
const nested = (inner: string, levels: number, open: string, close: string) =>
  open.repeat(levels) + inner + close.repeat(levels);
/** Levels of lists, each of which has the one before twice. */
const doubling = (levels: number) =>
  Array.from({ length: levels }).reduceRight<string>(
    (inner, _one, level) => `[[x${level}, x${level}]].map(x${level + 1}, ${inner})`,
    `x${levels}`,
  );

const HOSTILE: readonly (readonly [what: string, expression: string, args: JsonObject])[] = [
  ['a pattern that backtracks', 'params.arguments.s.matches("(a+)+$x")', { s: `${A}x` }],
  ['a pattern of the message', 'params.arguments.s.matches(params.arguments.p)', { s: A, p: '(a+)+$x' }],
  ['a search for one long text in another', 'params.arguments.s.contains(params.arguments.p)', { s: A, p: `b${A}` }],
  ['another search', 'params.arguments.s.lastIndexOf(params.arguments.p) > 0', { s: A, p: `${A}b` }],
  [
    'a walk through a list for each item of it',
    'params.arguments.l.exists(x, params.arguments.l.exists(y, y == x + 0.5))',
    { l: NUMBERS },
  ],
  [
    'walks in walks in walks',
    'params.arguments.l.map(x, params.arguments.l.map(y, params.arguments.l.map(z, x + y + z)))',
    { l: NUMBERS },
  ],
  [
    'a literal that is walked through ten times over',
    nested('true', 10, '[1,2,3,4,5,6,7,8,9].all(x, ', ')').replaceAll('.all(x', '.all(v'),
    {},
  ],
  ['a text that doubles with each level', '["a"].map(a, [a + a].map(b, [b + b].map(c, [c + c].map(d, d))))', {}],
  ['a text that doubles with each step', '["a"].map(a, a + a).map(b, b + b).map(c, c + c)', {}],
  ['a list that doubles with each level', `[1].map(x0, ${doubling(20)})`, {}],
  ['a text that is joined many times', Array.from({ length: 60 }, () => 'params.arguments.s').join(' + '), { s: A }],
  ['too large a text', 'params.arguments.s + params.arguments.s + params.arguments.s', { s: A }],
  [
    'too many values',
    'params.arguments.l.map(x, params.arguments.l.filter(y, y < 10.0))',
    { l: NUMBERS.slice(0, 3_000) },
  ],
  ['nested parentheses', nested('1', 450, '(', ')'), {}],
  ['nested lists', nested('1', 450, '[', ']'), {}],
  ['nested choices', nested('1', 150, '(true ? ', ' : 2)').slice(0, 990), {}],
  ['a very long expression', `"${'a'.repeat(5_000)}"`, {}],
  ['a bound name', 'cel.bind(a, params.arguments.s, a + a)', { s: A }],
  ['a text that is split', 'params.arguments.s.split("")', { s: A }],
  ['an infinite number', 'int(params.arguments.n) + 1', { n: '9'.repeat(500_000) }],
  ['an overflow', '9223372036854775807 * 9223372036854775807', {}],
];

describe('a hostile mapping', () => {
  it.each(HOSTILE)('with %s ends soon, in a mapping error [PRJ-34]', (_what, expression, args) => {
    const start = processorMs();
    expect(() => run(expression, args)).toThrow(expect.objectContaining({ code: 'ERR_MAPPING_FAILED' }));
    expect(processorMs() - start).toBeLessThan(SOON_MS);
  });

  it('pauses after it ran out of time, as do others that did, and no other mapping [PRJ-34]', () => {
    const slow = createSlowMappings(ORDINARY_LIMITS.mappingMs);
    /** The test sets the time: while the machine stands still, a pause ends. */
    const at = (nowMs: number): SlowMappings => ({
      isRefused: (mapping) => slow.isRefused(mapping, nowMs),
      took: (mapping, ms) => slow.took(mapping, ms, nowMs),
    });
    const costly = () =>
      compileMapping(mappingOf({ leaf: '$params.arguments.l.all(x, params.arguments.l.exists(y, x == y))' }));
    const ask = (mapping: ReturnType<typeof costly>, l: readonly number[], time: Partial<MappingTime> = {}) => {
      const resolving = { params: { arguments: { l } }, token: TOKEN, identity: 'alice' };
      return resolveMapping(mapping, resolving, { ...mappingTime(), slow: at(0), ...time })[0].context['leaf'];
    };
    const limits = ORDINARY_LIMITS;
    const [hostile, accomplice] = [costly(), costly()];
    for (const one of [hostile, accomplice]) expect(() => ask(one, NUMBERS, { limits })).toThrow('takes too long');
    for (const one of [hostile, accomplice]) expect(() => ask(one, [1, 2, 3])).toThrow('lately');
    expect(ask(costly(), [1, 2, 3])).toBe(true);
    expect(ask(hostile, [1, 2, 3], { slow: at(3_600_000) })).toBe(true);
  });

  it.each([
    ['deep', Array.from({ length: 40 }).reduce<Json>((inner) => [inner], 'x')],
    ['long', 'x'.repeat(40_000)],
    ['of many parts', Array.from({ length: 20_000 }, () => 1)],
  ])('that is too %s is refused [PRJ-34]', (_what, context) => {
    expect(() => compileMapping(mappingOf({ context }))).toThrow(
      expect.objectContaining({ code: 'ERR_MAPPING_FAILED' }),
    );
  });

  it.each(['constructor', '__proto__', 'prototype', 'toString', 'hasOwnProperty'])(
    'cannot reach the language in which it is evaluated (%s) [COAZ-FW-08] [PRJ-34]',
    (name) => {
      expect(() => run(`token.${name}`, {})).toThrow(expect.objectContaining({ code: 'ERR_MAPPING_FAILED' }));
      expect(() => run(`params.arguments["${name}"]`, {})).toThrow('cannot be evaluated');
      expect(run(`params.arguments[?"${name}"]`, {})).toBeUndefined();
    },
  );

  it('of random expressions ends soon, in JSON or in a mapping error that quotes no value [PRJ-34] [COAZ-FW-11]', () => {
    const secret = 'canary-7f3a';
    const args = { s: secret, l: [1, secret, { k: secret }], n: 5, o: { k: [secret] } };
    const start = processorMs();
    let resolved = 0;
    for (let seed = 1; seed <= times(600, 6_000); seed += 1) {
      try {
        JSON.stringify(run(randomExpression(seed), args));
        resolved += 1;
      } catch (error) {
        expect(error).toMatchObject({ code: 'ERR_MAPPING_FAILED', message: expect.not.stringContaining(secret) });
      }
    }
    expect(resolved).toBeGreaterThan(20);
    expect(processorMs() - start).toBeLessThan(120_000);
  });
});

/** The same for the same seed. */
function randomExpression(seed: number): string {
  let state = seed * 2_654_435_761;
  const below = (count: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * count);
  };
  const one = <T>(of: readonly T[]): T => of[below(of.length)] as T;
  const leaf = () =>
    one([
      'params',
      'params.arguments.s',
      'params.arguments.l',
      'params.arguments.?none',
      'params.arguments.n',
      'token.sub',
      'params.arguments.o',
      '1',
      '2.5',
      '"x"',
      'null',
      'true',
      'x',
      '[]',
      '{}',
      '5u',
      'b"x"',
      'optional.none()',
    ]);
  const expression = (levels: number): string => {
    if (levels === 0) return leaf();
    const inner = () => expression(levels - 1);
    return one([
      leaf,
      () => `(${inner()} ${one(['+', '-', '*', '/', '%', '==', '!=', '<', '>=', '&&', '||', 'in'])} ${inner()})`,
      () => `(${inner()} ? ${inner()} : ${inner()})`,
      () => `${inner()}.${one(['map', 'filter', 'all', 'exists', 'exists_one'])}(x, ${inner()})`,
      () => `[${inner()}, ${inner()}]`,
      () => `{"k": ${inner()}}`,
      () => `${inner()}${one(['.k', '.?k', '[0]', '["k"]', '.orValue(1)', '.size()', '.matches("a")', '.trim()'])}`,
      () => `${one(['size', 'string', 'int', 'double', 'dyn', 'type', 'duration', 'has', '!', '-'])}(${inner()})`,
    ])();
  };
  return expression(below(5));
}
