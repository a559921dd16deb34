import { describe, expect, it } from '@jest/globals';
import { explore } from '../model/explore.ts';
import { MODEL_MUTANTS } from '../model/mutants.ts';

describe('the protocol of a gated call, in every order in which things can happen', () => {
  it('lets nothing happen that must never be, and always comes to rest', () => {
    const { states, violation } = explore();
    expect(violation).toBeUndefined();
    // Fewer would mean that something can no longer happen in the model, and nothing was shown of it.
    expect(states).toBeGreaterThan(10_000);
  });

  it.each(Object.entries(MODEL_MUTANTS))('would not do so if %s', (_, rules) => {
    // Most need one gateway and one worker only, and that is soon explored.
    const { violation = explore(rules).violation } = explore(rules, { isAlone: true });
    expect(violation?.path.length).toBeGreaterThan(1);
  });
});
