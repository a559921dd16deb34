import { describe, expect, it } from '@jest/globals';
import { MUTANTS, tryMutant } from '../mutants/run-mutants.ts';

/** One for each kind of fault; `npm run test:mutants` tries all of them. */
const TRIED = [
  'the permit is given whenever it is asked for',
  'a claimed call can be cancelled',
  'the claim reads the clock before it waits for the row',
  'a retried submission has a new key',
];

describe('a fault in the product is noticed:', () => {
  it.each(MUTANTS.filter(({ name }) => TRIED.includes(name)).map((mutant) => [mutant.name, mutant] as const))(
    '%s',
    async (_, mutant) => {
      expect(await tryMutant(mutant)).toMatchObject({ killedBy: expect.any(String) });
    },
  );

  it('by more mutants than these', () => {
    expect(MUTANTS.length).toBeGreaterThanOrEqual(15);
    expect(MUTANTS.filter(({ name }) => TRIED.includes(name))).toHaveLength(TRIED.length);
  });
});
