import { describe, expect, it } from '@jest/globals';
import { expectAgreement, outcomeBy } from './rules-agree.ts';

describe('rules', () => {
  it('decide random calls as they are documented', async () => {
    const seen = await expectAgreement({ ruleSets: 20, callsOfEach: 20 });
    expect([...seen.keys()].sort()).toEqual(['deny', 'permit', 'requestable']);
  });

  it('make no exception for a call of which a fact is not known', async () => {
    const allow = { tool: 'files__*', effect: 'write', caller: { client: 'cli' }, where: { path: { like: '/srv/*' } } };
    const rules = [
      { approve: 'files__*', name: 'asks' },
      { allow: 'files__*', name: 'would allow' },
      { allow, name: 'stands in its place', insteadOf: 'asks' },
    ];
    const call = { tool: 'files__write', server: 'files', effect: 'write', roles: [] };
    const context = { agent: 'cli', call, arguments: { path: '/srv/x' } };
    const { effect: _effect, ...unknown } = call;
    const asked = [
      context,
      { ...context, call: unknown },
      { call, arguments: context.arguments },
      { ...context, arguments: {} },
      { ...context, arguments: { path: '/srv/../x' } },
      { ...context, arguments: { path: 7 } },
    ];
    expect(await outcomeBy(rules, asked)).toEqual(['permit', ...Array.from({ length: 5 }, () => 'requestable')]);
  });
});
