import { expect, it } from '@jest/globals';
import { findProofs, readGaps, readRows } from '../requirements/rows.ts';

const rows = readRows();
const ids = rows.map(({ id }) => id);
const gaps = readGaps().flatMap((gap) => gap.rows);
const proofs = findProofs();

it('no row stands twice, and neither does a gap', () => {
  expect(ids.length).toBeGreaterThan(300);
  expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
  expect(gaps.filter((id, index) => gaps.indexOf(id) !== index)).toEqual([]);
});

it('titles of tests and gaps name rows that there are', () => {
  expect([...proofs.keys(), ...gaps].filter((id) => !ids.includes(id))).toEqual([]);
});

it('what has to be is proved by a test, or is a known gap', () => {
  const open = rows.filter(({ id, level }) => level.startsWith('MUST') && !proofs.has(id) && !gaps.includes(id));
  expect(open.map(({ id, statement }) => `${id} ${statement}`)).toEqual([]);
});

it('no known gap is proved by a test', () => {
  expect(gaps.filter((id) => proofs.has(id)).map((id) => `${id} ${proofs.get(id)?.join('; ')}`)).toEqual([]);
});
