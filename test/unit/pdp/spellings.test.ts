import { expect, it } from '@jest/globals';
import { tryAddresses, tryPaths } from './spellings.ts';

const HELD = { meant: expect.any(Number), respelled: expect.any(Number), passed: expect.any(Number), evaded: 0 };

it('no spelling of a path evades a rule, as a real disk opens it', async () => {
  const found = await tryPaths(1_000);
  expect(found).toEqual(HELD);
  expect(Math.min(found.meant, found.respelled, found.passed)).toBeGreaterThan(0);
});

it('no spelling of an address evades a rule, as real readers understand it', async () => {
  const found = await tryAddresses(1_000);
  expect(found).toEqual(HELD);
  expect(Math.min(found.meant, found.respelled, found.passed)).toBeGreaterThan(0);
});
