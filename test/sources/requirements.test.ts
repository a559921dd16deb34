import { expect, it } from '@jest/globals';
import { findFaults, readRows, type Row } from '../requirements/rows.ts';

it('a test proves every MUST row, or a known gap lists it, and titles and gaps name existing rows', () => {
  expect(readRows().length).toBeGreaterThan(800);
  expect(findFaults()).toEqual([]);
});

it('every kind of fault in rows, gaps and titles is found', () => {
  const row = (id: string): Row => ({ id, level: 'MUST', statement: 'It is.' });
  const rows = [...'ABCD'].map((letter) => row(`${letter}-1`));
  const gaps = [{ reason: 'known', rows: ['A-1', 'B-1', 'X-1'] }];
  expect(
    findFaults(
      [...rows, row('A-1')],
      [...gaps, { reason: 'again', rows: ['B-1'] }],
      new Map([
        ['A-1', ['a.test.ts: it is']],
        ['C-1', ['a.test.ts: it is']],
        ['Y-1', ['a.test.ts: it is']],
      ]),
    ),
  ).toEqual([
    'A-1 is listed twice in the rows: remove one',
    'B-1 is listed twice in gaps.yaml: remove one',
    'X-1 is in gaps.yaml but is not a row: correct or remove it',
    'Y-1 is in a title but is not a row: a.test.ts: it is',
    'A-1 is proved, so remove it from gaps.yaml: a.test.ts: it is',
    'D-1 is neither proved nor a known gap: It is.',
  ]);
});
