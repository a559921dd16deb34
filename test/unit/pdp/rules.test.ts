import { describe, expect, it } from '@jest/globals';
import { expectAgreement } from './rules-agree.ts';

describe('rules', () => {
  it('decide random calls as they are documented', async () => {
    const seen = await expectAgreement({ ruleSets: 25, callsOfEach: 20 });
    expect([...seen.keys()].sort()).toEqual(['deny', 'permit', 'requestable']);
  });
});
