import { describe, expect, it } from '@jest/globals';
import {
  createArgumentChecks,
  createResultCheck,
  examineSchemas,
} from '../../../../apps/shared/schemas/schema-check.ts';
import type { Limits } from '../../../../apps/shared/limits.ts';
import type { Json, JsonObject } from '../../../../workflows/domain/canonical-json.ts';
import { serve } from '../../../support/serve.ts';
import { ORDINARY_LIMITS, PATIENT_LIMITS } from '../../../support/time.ts';

const checkWithin = (limits: Limits) => {
  const { check: faultOf } = createArgumentChecks(limits);
  return async (...call: Parameters<typeof faultOf>) => {
    const fault = await faultOf(...call);
    return fault !== undefined && 'problem' in fault ? fault.problem : fault;
  };
};
const check = checkWithin(PATIENT_LIMITS);
let digests = 0;
const aTool = (inputSchema?: Json) => ({
  upstream: 'u',
  upstreamName: 't',
  name: 'u__t',
  digest: `sha-256:${(digests += 1)}`,
  definition: (inputSchema === undefined ? { name: 't' } : { name: 't', inputSchema }) as JsonObject,
});
/** A tool that takes anything, and promises results by this schema. */
const results = (outputSchema: Json) => ({ definition: { name: 't', inputSchema: { type: 'object' }, outputSchema } });
const number = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] };

describe('arguments', () => {
  it.each([
    ['no dialect', number],
    ['2020-12', { $schema: 'https://json-schema.org/draft/2020-12/schema', ...number }],
    ['2019-09', { $schema: 'https://json-schema.org/draft/2019-09/schema', ...number }],
    ['draft-07', { $schema: 'http://json-schema.org/draft-07/schema#', ...number }],
  ])('are checked against a schema that names %s', async (_case, schema) => {
    const tool = aTool(schema);
    expect(await check(tool, { n: 1 })).toBeUndefined();
    expect(await check(tool, { n: '1' })).toBe('arguments/n must be number');
    expect(await check(tool, {})).toBe("arguments must have required property 'n'");
  });

  it('fit no tool with an unusable output schema: it would run, and no client could get its result', async () => {
    const promising = (outputSchema: Json) => {
      const tool = aTool(number);
      return { ...tool, definition: { ...tool.definition, outputSchema } };
    };
    expect(await check(promising(number), { n: 1 })).toBeUndefined();
    const unusable = promising({ $ref: 'https://example.com/schema.json' });
    expect(await check(unusable, { n: 1 })).toEqual({ unusable: 'output' });
  });

  it.each([
    ['an integer', { type: 'integer' }, false],
    ['an integer or a text', { type: ['integer', 'string'] }, false],
    ['an integer in an item', { type: 'array', items: { type: 'integer' } }, false],
    ['an integer by reference', { $ref: '#/$defs/amount' }, false],
    ['a number', { type: 'number' }, true],
    ['an integer or a number', { type: ['integer', 'number'] }, true],
  ])('beyond 2^53 are refused where the schema says %s [PRJ-35]', async (_case, amount, fits) => {
    const $defs = { amount: { type: 'integer', allOf: [{ minimum: 1 }] } };
    const tool = aTool({ type: 'object', properties: { amount, kept: { const: { type: 'integer' } } }, $defs });
    const value = (n: number) => ({ amount: 'items' in amount ? [n] : n, kept: { type: 'integer' } });
    expect(await check(tool, value(Number.MAX_SAFE_INTEGER))).toBeUndefined();
    for (const beyond of [2 ** 53, 1e30, ...(fits ? [] : [-(2 ** 53)])]) {
      expect((await check(tool, value(beyond))) === undefined).toBe(fits);
    }
  });

  it('are neither converted nor filled in', async () => {
    const args = { n: '1' };
    const tool = aTool({ type: 'object', properties: { n: { type: 'number' }, m: { default: 5 } } });
    expect(await check(tool, args)).toBeDefined();
    expect(args).toEqual({ n: '1' });
  });

  it('have problems that are named without their values', async () => {
    const tool = aTool({ type: 'object', properties: { c: { enum: ['x'] }, d: { pattern: '^a$', type: 'string' } } });
    expect(await check(tool, { c: 'canary' })).toBe('arguments/c must be equal to one of the allowed values');
    const pattern = await check(tool, { d: 'canary' });
    expect(pattern).toMatch(/^arguments\/d must match pattern/);
    expect(pattern).not.toContain('canary');
  });

  it.each([
    ['is missing', undefined],
    ['is not one', 'nonsense'],
    ['refers to another place', { $ref: 'https://example.com/schema.json' }],
    ['has an unknown type', { type: 'object', properties: { a: { type: 'colour' } } }],
    ['has an unknown type in 2019-09', { $schema: 'https://json-schema.org/draft/2019-09/schema', type: 'colour' }],
    ['has an unknown type in draft-07', { $schema: 'http://json-schema.org/draft-07/schema#', type: 'colour' }],
    ['names a place in a dialect', { $schema: 'https://json-schema.org/draft/2020-12/schema#/nowhere' }],
    ['is asynchronous', { $async: true, type: 'object' }],
    ['is of an unknown dialect', { $schema: 'https://example.com/dialect', type: 'object' }],
  ])('fit no schema that %s [TOOL-002]', async (_case, schema) => {
    expect(await check(aTool(schema as Json), {})).toEqual({ unusable: 'input' });
  });

  it('fit no schema that refers to another server, and that server is not asked [TOOL-009]', async () => {
    let asked = 0;
    const server = await serve((_request, response) => {
      asked += 1;
      response.end(JSON.stringify({ type: 'object' }));
    });
    try {
      for (const keyword of ['$ref', '$dynamicRef']) {
        const schema = { type: 'object', properties: { a: { [keyword]: `${server.url}/schema.json` } } };
        expect(await check(aTool(schema), { a: 1 })).toEqual({ unusable: 'input' });
      }
      // A started request would have arrived before this one.
      await fetch(server.url);
      expect(asked).toBe(1);
    } finally {
      await server.close();
    }
  });

  /** Each level applies the next one twice. */
  const multiplying = (levels: number) =>
    Object.fromEntries(
      Array.from({ length: levels }, (_, n) => {
        const next = { $ref: n + 1 < levels ? `#/$defs/d${n + 1}` : '#/$defs/last' };
        return [`d${n}`, { allOf: [next, next] }] as const;
      }),
    );

  it.each([
    [
      'backtracks',
      { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } },
      { a: `${'a'.repeat(26)}!` },
    ],
    [
      'multiplies',
      { type: 'object', $ref: '#/$defs/d0', $defs: { ...multiplying(28), last: { not: { required: ['x'] } } } },
      { a: 1 },
    ],
    [
      'leads back to itself',
      { type: 'object', $ref: '#/$defs/a', $defs: { a: { allOf: [{ $ref: '#/$defs/a' }] } } },
      {},
    ],
  ])(
    'are refused when the check takes too long under a schema that %s, and the next ones are checked [TOOL-009]',
    async (_case, schema, args) => {
      const tool = aTool(schema);
      const checkSoon = checkWithin(ORDINARY_LIMITS);
      expect(await checkSoon(tool, args)).toBe('they cannot be checked in time');
      expect(await check(aTool(number), { n: 1 })).toBeUndefined();
    },
  );

  it('get the verdict of a costly schema when the check ends in time', async () => {
    const pattern = aTool({ type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } });
    expect(await check(pattern, { a: 'aaa' })).toBeUndefined();
    expect(await check(pattern, { a: 'b' })).toBe('arguments/a must match pattern "^(a+)+$"');
    const few = multiplying(3);
    const composed = aTool({ type: 'object', $ref: '#/$defs/d0', $defs: { ...few, last: { required: ['x'] } } });
    expect(await check(composed, { x: 1 })).toBeUndefined();
    expect(await check(composed, {})).toBe("arguments must have required property 'x'");
  });

  it('are checked against the schema of the digest, and schemas with one id do not disturb each other', async () => {
    const id = 'https://example.com/same';
    const strings = aTool({ $id: id, type: 'object', properties: { a: { type: 'string' } } });
    const numbers = aTool({ $id: id, type: 'object', properties: { a: { type: 'number' } } });
    expect(await check(strings, { a: 'x' })).toBeUndefined();
    expect(await check(numbers, { a: 1 })).toBeUndefined();
    expect(await check(numbers, { a: 'x' })).toBeDefined();
    expect(await check(strings, { a: 1 })).toBeDefined();
  });

  it('have every problem of a call named, up to eight, each once', async () => {
    const numbers = Object.fromEntries(Array.from({ length: 12 }, (_, n) => [`n${n}`, { type: 'number' }]));
    const tool = aTool({ type: 'object', properties: numbers, required: ['n0'], additionalProperties: false });
    expect(await check(tool, { n1: 'x', extra: 1 })).toBe(
      "arguments must have required property 'n0'; arguments must NOT have additional properties (extra); arguments/n1 must be number",
    );
    const all = Object.fromEntries(Object.keys(numbers).map((name) => [name, 'x']));
    const first = Array.from({ length: 8 }, (_, n) => `arguments/n${n} must be number`);
    expect(await check(tool, all)).toBe([...first, '4 more'].join('; '));
  });
});

/** A schema that takes long to compile: each member has several alternatives. */
const expensive = (members: number) => ({
  type: 'object',
  properties: Object.fromEntries(
    Array.from({ length: members }, (_, n) => [
      `p${n}`,
      { anyOf: [{ type: 'string', minLength: 1 }, { type: 'integer', minimum: n }, { type: 'null' }] },
    ]),
  ),
});

/** A schema by which a check of one text never ends. */
const ENDLESS = { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } };
const ENDLESS_ARGUMENTS = { a: `${'a'.repeat(40)}!` };

describe('a schema that costs much', () => {
  const settled = (promise: Promise<unknown>) => {
    const of = { is: false };
    void promise.then(() => (of.is = true));
    return of;
  };

  it.each([
    ['is compiled', () => check(aTool(expensive(400)), { p1: 1 })],
    ['checks results', () => createResultCheck(PATIENT_LIMITS)(results(expensive(401)), { p1: 1 })],
    ['is examined', () => examineSchemas(aTool(expensive(402)), PATIENT_LIMITS)],
  ])('keeps neither the process nor other checks waiting while it %s', async (_case, begin) => {
    await check(aTool(number), { n: 1 });
    const costly = begin();
    const { is } = settled(costly);
    let turns = 0;
    const counting = setInterval(() => (turns += 1));
    await check(aTool(number), { n: 2 });
    expect(is).toBe(false);
    await costly;
    clearInterval(counting);
    expect(turns).toBeGreaterThan(0);
  });

  it('is refused unread when it has too many bytes or parts', async () => {
    const long = { type: 'object', description: 'x'.repeat(300_000) };
    expect(await examineSchemas(aTool(long), ORDINARY_LIMITS)).toEqual({
      reason: expect.stringMatching(
        /^its input schema has 300\d{3} bytes, and 262144 are the most$/,
      ) as unknown as string,
    });
    const many = { type: 'object', enum: Array.from({ length: 11_000 }, () => []) };
    expect(await check(aTool(many), {})).toEqual({ unusable: 'input' });
    expect(await examineSchemas(results(many), ORDINARY_LIMITS)).toMatchObject({
      reason: 'its output schema has 11002 parts, and 10000 are the most',
    });
  });

  it('delays other slow checks, and no quick one, when its check has to be ended', async () => {
    const checkSoon = checkWithin(ORDINARY_LIMITS);
    const endless = aTool(ENDLESS);
    expect(await checkSoon(endless, ENDLESS_ARGUMENTS)).toBe('they cannot be checked in time');
    const again = checkSoon(endless, ENDLESS_ARGUMENTS);
    const { is } = settled(again);
    expect(await check(aTool(number), { n: 1 })).toBeUndefined();
    expect(is).toBe(false);
    expect(await again).toBe('they cannot be checked in time');
  });

  it('refuses a result that cannot be checked in time', async () => {
    const fits = createResultCheck(ORDINARY_LIMITS);
    expect(await fits(results(ENDLESS), { a: 'aa' })).toBe(true);
    expect(await fits(results(ENDLESS), ENDLESS_ARGUMENTS)).toBe(false);
  });
});
