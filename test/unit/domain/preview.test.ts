import { describe, expect, it } from '@jest/globals';
import { copiedArguments, dryRunArguments } from '../../../workflows/domain/tools/preview.ts';

const SCHEMA = {
  type: 'object',
  properties: {
    path: { type: 'string' },
    dryRun: { type: 'boolean', default: false },
    mode: { enum: ['plan', 'apply'] },
    only: { const: true },
    maybe: { anyOf: [{ type: 'boolean' }, { type: 'null' }] },
    free: { type: 'string' },
    elsewhere: { $ref: '#/$defs/x' },
  },
};
const DRY = { argument: 'dryRun', value: true };

describe('the arguments of a dry run', () => {
  it('are those of the call and the operator’s, last', () => {
    const args = dryRunArguments(SCHEMA, { dryRun: false, path: '/a' }, DRY);
    expect(JSON.stringify(args)).toBe('{"path":"/a","dryRun":true}');
  });

  it.each([
    ['mode', 'plan'],
    ['only', true],
    ['maybe', true],
  ])('may be made certain by %s', (argument, value) => {
    expect(dryRunArguments(SCHEMA, { path: '/a' }, { argument, value })).toEqual({ path: '/a', [argument]: value });
  });

  it.each([
    ['no argument of the tool', 'dry', true],
    ['a member that every object inherits', 'constructor', true],
    ['a text that the tool reads as it likes', 'free', 'plan'],
    ['a value that the tool does not list', 'mode', 'other'],
    ['another value than the only one', 'only', false],
    ['a text for a boolean', 'dryRun', 'true'],
    ['a schema that stands elsewhere', 'elsewhere', true],
  ])('are refused for %s', (_what, argument, value) => {
    expect(dryRunArguments(SCHEMA, { path: '/a' }, { argument, value })).toBeUndefined();
  });

  it.each(['DryRun', 'dry_run', 'dry-run', 'ＤryRun', 'unnamed'])(
    'are refused if the call has the argument %s, which the description does not name',
    (name) => {
      expect(dryRunArguments(SCHEMA, { path: '/a', [name]: false }, DRY)).toBeUndefined();
    },
  );

  it('are refused if a named argument of the call looks like that of the dry run', () => {
    const both = { properties: { ...SCHEMA.properties, dry_run: { type: 'boolean' } } };
    expect(dryRunArguments(both, { path: '/a', dry_run: false }, DRY)).toBeUndefined();
    expect(dryRunArguments(both, { path: '/a' }, DRY)).toEqual({ path: '/a', dryRun: true });
  });

  it.each([undefined, null, 'text', {}, { properties: [] }])('are refused for the schema %j', (schema) => {
    expect(dryRunArguments(schema, {}, DRY)).toBeUndefined();
  });
});

it('copies named arguments of the call for another tool, and adds the operator’s', () => {
  const setting = { tool: 'files__read', copy: { path: 'target', also: 'missing' }, arguments: { head: 10 } };
  expect(copiedArguments({ target: '/a', head: 99, content: 'secret' }, setting)).toEqual({ path: '/a', head: 10 });
});
