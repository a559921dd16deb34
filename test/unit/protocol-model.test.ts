import { describe, expect, it } from '@jest/globals';
import { explore } from '../model/explore.ts';
import { MODEL_MUTANTS } from '../model/mutants.ts';

describe('the protocol of a gated call, in every order of events', () => {
  it('permits no violation, and always comes to rest', () => {
    const { states, violation } = explore();
    expect(violation).toBeUndefined();
    // Fewer would mean that some step no longer happens in the model, so the result would prove less.
    expect(states).toBeGreaterThan(10_000);
  });

  it.each(Object.entries(MODEL_MUTANTS))('would fail if %s', (_, rules) => {
    // Most need only one gateway and one worker, and that is soon explored.
    const { violation = explore(rules).violation } = explore(rules, { isAlone: true });
    expect(violation?.path.length).toBeGreaterThan(1);
  });
});
