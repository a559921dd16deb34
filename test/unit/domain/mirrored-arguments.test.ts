import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { mirroredArguments, mirroredValue } from '../../../workflows/domain/tools/mirrored-arguments.ts';
import { refusalOf, toolFacts } from '../../../workflows/domain/tools/tool-facts.ts';

const named = (name: unknown, type: unknown = 'string') => ({ type, 'x-mcp-header': name }) as JsonObject;
const schema = (properties: JsonObject, rest: JsonObject = {}): JsonObject => ({ type: 'object', properties, ...rest });

describe('the arguments that headers repeat', () => {
  it('are those that are reached through properties alone, at any depth [HTTP-018]', () => {
    const inputSchema = schema({
      region: named('Region'),
      plain: { type: 'string' },
      deep: schema({ count: named("X-1!#$%&'*+.^_`|~", 'integer'), flag: named('flag', 'boolean') }),
    });
    expect(mirroredArguments(inputSchema)).toEqual({
      mirrored: [
        { name: 'Region', path: ['region'], type: 'string' },
        { name: "X-1!#$%&'*+.^_`|~", path: ['deep', 'count'], type: 'integer' },
        { name: 'flag', path: ['deep', 'flag'], type: 'boolean' },
      ],
    });
  });

  it('may have the name of the keyword, and defaults and examples that look like it', () => {
    const inputSchema = schema({
      'x-mcp-header': { type: 'string' },
      a: { type: 'object', default: named('A'), examples: [named('A')], enum: [named('A')], const: named('A') },
    });
    expect(mirroredArguments(inputSchema)).toEqual({ mirrored: [] });
    expect(mirroredArguments(undefined)).toEqual({ mirrored: [] });
  });

  it.each([
    ['an empty name', schema({ a: named('') })],
    ['a name with a space', schema({ a: named('a b') })],
    ['a name with a line feed', schema({ a: named('a\nb') })],
    ['a name with a letter beyond ASCII', schema({ a: named('ä') })],
    ['a name that is not text', schema({ a: named(7) })],
    ['a name that is null', schema({ a: named(null) })],
    ['two names that differ only in case', schema({ a: named('Region'), b: schema({ c: named('REGION') }) })],
    ['a number', schema({ a: named('A', 'number') })],
    ['an object', schema({ a: named('A', 'object') })],
    ['several types', schema({ a: named('A', ['string', 'null']) })],
    ['no type', schema({ a: { 'x-mcp-header': 'A' } })],
    ['one at the root', { ...schema({}), ...named('A') }],
    ['one among items', schema({ a: { type: 'array', items: schema({ b: named('A') }) } })],
    ['one in a choice', schema({}, { oneOf: [schema({ a: named('A') })] })],
    ['one under a condition', schema({}, { then: schema({ a: named('A') }) })],
    ['one in a definition', schema({}, { $defs: { a: named('A') } })],
    ['one for names by pattern', schema({}, { patternProperties: { '^a': named('A') } })],
    ['one for all other members', schema({}, { additionalProperties: named('A') })],
  ])('cannot be declared with %s: such a tool is not offered [HTTP-018]', (_case, inputSchema) => {
    const { mirrored, fault } = mirroredArguments(inputSchema);
    expect(mirrored).toEqual([]);
    expect(fault).toMatch(/^its input schema has .*x-mcp-header/);
    expect(refusalOf(toolFacts({ inputSchema }))).toBe(fault);
  });

  it('have the value at their place, and are left out where it is missing or null', () => {
    const at = (path: string[], args: JsonObject) => mirroredValue(args, { name: 'A', path, type: 'string' });
    expect(at(['a', 'b'], { a: { b: false } })).toBe(false);
    expect(at(['a'], { a: '' })).toBe('');
    expect(at(['a'], { a: null })).toBeUndefined();
    expect(at(['a', 'b'], { a: null })).toBeUndefined();
    expect(at(['a', 'b'], { a: 'text' })).toBeUndefined();
    expect(at(['toString'], {})).toBeUndefined();
  });
});
