import { describe, expect, it } from '@jest/globals';
import { createArgumentCheck } from '../../../apps/gateway/tools/argument-check.ts';
import type { Json, JsonObject } from '../../../workflows/domain/canonical-json.ts';

const check = createArgumentCheck();
let digests = 0;
const aTool = (inputSchema?: Json) => ({
  upstream: 'u',
  upstreamTool: 't',
  name: 'u__t',
  digest: `sha-256:${(digests += 1)}`,
  definition: (inputSchema === undefined ? { name: 't' } : { name: 't', inputSchema }) as JsonObject,
});
const number = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] };

describe('arguments', () => {
  it.each([
    ['no dialect', number],
    ['2020-12', { $schema: 'https://json-schema.org/draft/2020-12/schema', ...number }],
    ['2019-09', { $schema: 'https://json-schema.org/draft/2019-09/schema', ...number }],
    ['draft-07', { $schema: 'http://json-schema.org/draft-07/schema#', ...number }],
  ])('are checked against a schema that names %s', (_case, schema) => {
    const tool = aTool(schema);
    expect(check(tool, { n: 1 })).toBeUndefined();
    expect(check(tool, { n: '1' })).toBe('arguments/n must be number');
    expect(check(tool, {})).toBe("arguments must have required property 'n'");
  });

  it('are neither converted nor filled in', () => {
    const args = { n: '1' };
    const tool = aTool({ type: 'object', properties: { n: { type: 'number' }, m: { default: 5 } } });
    expect(check(tool, args)).toBeDefined();
    expect(args).toEqual({ n: '1' });
  });

  it('name their problem without their values', () => {
    const tool = aTool({ type: 'object', properties: { c: { enum: ['x'] }, d: { pattern: '^a$', type: 'string' } } });
    expect(check(tool, { c: 'canary' })).toBe('arguments/c must be equal to one of the allowed values');
    const pattern = check(tool, { d: 'canary' });
    expect(pattern).toMatch(/^arguments\/d must match pattern/);
    expect(pattern).not.toContain('canary');
  });

  it.each([
    ['is missing', undefined],
    ['is not one', 'nonsense'],
    ['refers to another place', { $ref: 'https://example.com/schema.json' }],
    ['has a type that is none', { type: 'object', properties: { a: { type: 'colour' } } }],
    ['is asynchronous', { $async: true, type: 'object' }],
    ['is of an unknown dialect', { $schema: 'https://example.com/dialect', type: 'object' }],
  ])('fit no schema that %s [TOOL-002]', (_case, schema) => {
    expect(check(aTool(schema as Json), {})).toBe("the tool's input schema cannot be used");
  });

  it('are checked against the schema of the digest, and schemas with one id do not disturb each other', () => {
    const id = 'https://example.com/same';
    const strings = aTool({ $id: id, type: 'object', properties: { a: { type: 'string' } } });
    const numbers = aTool({ $id: id, type: 'object', properties: { a: { type: 'number' } } });
    expect(check(strings, { a: 'x' })).toBeUndefined();
    expect(check(numbers, { a: 1 })).toBeUndefined();
    expect(check(numbers, { a: 'x' })).toBeDefined();
    expect(check(strings, { a: 1 })).toBeDefined();
  });
});
