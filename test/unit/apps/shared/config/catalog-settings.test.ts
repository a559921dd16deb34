import { describe, expect, it } from '@jest/globals';
import { readItems } from '../../../../../apps/approvals/catalogs/items.ts';
import { parseConfig } from '../../../../../apps/shared/config/config.ts';

const parse = (catalogs: object) =>
  parseConfig({ approvals: { catalogs } }, { baseDir: '/etc/countersign', stateDir: '/' }).approvals.catalogs;
const FIELD = { template: 'payment', field: '/context/cost_center', scope: { app: '/context/app' } };
const CATALOG = { file: 'centers.json', fields: [FIELD] };

describe('the settings of catalogs', () => {
  it('have no catalogs by default, and resolve files beside the configuration', () => {
    expect(parseConfig({}, { baseDir: '/', stateDir: '/' }).approvals.catalogs).toEqual({});
    expect(parse({ centers: CATALOG })['centers']?.file).toBe('/etc/countersign/centers.json');
  });

  it.each<[string, object, RegExp]>([
    ['a name that cannot be part of an address', { '../centers': CATALOG }, /lower-case letters/],
    [
      'a field that no submission has',
      { centers: { ...CATALOG, fields: [{ ...FIELD, field: '/denial/x' }] } },
      /JSON Pointer/,
    ],
    [
      'a source that does not exist',
      { centers: { ...CATALOG, fields: [{ ...FIELD, scope: { app: 'context.app' } }] } },
      /JSON Pointer/,
    ],
    [
      'a parameter with another meaning',
      { centers: { ...CATALOG, fields: [{ ...FIELD, scope: { cursor: '/context/app' } }] } },
      /have another meaning/,
    ],
    ['two catalogs for one field', { centers: CATALOG, others: CATALOG }, /already has a catalog/],
    ['no field', { centers: { ...CATALOG, fields: [] } }, /fields/],
  ])('refuse %s', (_case, catalogs, message) => {
    expect(() => parse(catalogs)).toThrow(message);
  });
});

describe('a catalog file', () => {
  const item = { value: 'cc-1', label: 'Research' };
  const read = (...items: object[]) => readItems(JSON.stringify(items), 'centers.json');

  it('may have a value once for each scope', () => {
    expect(read({ ...item, scope: { app: 'a' } }, { ...item, scope: { app: 'b' } })).toHaveLength(2);
    expect(() => read(item, item)).toThrow('centers.json: "cc-1" appears twice for one scope');
  });

  it.each<[string, object]>([
    ['has no label', { label: undefined }],
    ['has an unknown rule of visibility', { visible: { roles: ['admin'] } }],
    ['is shown differently from the value that is sent', { value: 'cc\u200b-1' }],
    ['is not text', { value: 7 }],
  ])('is refused with an item that %s', (_case, change) => {
    expect(() => read({ ...item, ...change })).toThrow(/^centers\.json: /);
  });

  it('is refused when it is not JSON', () => {
    expect(() => readItems('[', 'centers.json')).toThrow('not valid JSON');
  });
});
