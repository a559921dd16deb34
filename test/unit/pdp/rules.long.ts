import { describe, expect, it } from '@jest/globals';
import { expectAgreement } from './rules-agree.ts';

describe('10,000 sets of rules', () => {
  it('decide as they are documented', async () => {
    const seen = await expectAgreement({ ruleSets: 10_000, callsOfEach: 3 });
    expect([...seen.keys()].sort()).toEqual(['deny', 'permit', 'requestable']);
  });
});
