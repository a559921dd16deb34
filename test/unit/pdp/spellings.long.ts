import { expect, it } from '@jest/globals';
import { tryAddresses, tryPaths } from './spellings.ts';

const DRAWS = 100_000;

it.each([
  ['paths', tryPaths],
  ['addresses', tryAddresses],
])('no spelling of 100,000 drawn %s evades a rule', async (what, tries) => {
  const { meant, respelled, passed, evaded } = await tries(DRAWS);
  process.stdout.write(
    `${DRAWS} spellings of ${what}: ${meant} name what a rule is about, ${respelled} of them in another spelling; ` +
      `${passed} calls passed, ${evaded} written that a rule holds or refuses\n`,
  );
  expect(evaded).toBe(0);
});
