import { describe, expect, it } from '@jest/globals';
import { times } from '../../../../support/regime.ts';
import { canonicalOf, tryRandom, unfaithful } from './invertible.tsx';
import { HOSTILE } from './hostile-arguments.ts';

describe('each view of the arguments', () => {
  it(`is read back to the byte: ${HOSTILE.length} sets that were made to deceive`, () => {
    expect(HOSTILE.length).toBeGreaterThanOrEqual(times(250, 500));
    const texts = HOSTILE.map(canonicalOf).filter((text) => text !== undefined);
    expect(texts.filter((text) => unfaithful(text).length > 0)).toEqual([]);
  });

  it('is read back to the byte: random sets', () => {
    expect(tryRandom('the suite', 60)).toEqual({ tried: 60, lost: [] });
  });
});
