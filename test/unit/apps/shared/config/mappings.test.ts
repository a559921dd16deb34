import { describe, expect, it } from '@jest/globals';
import { parseConfig } from '../../../../../apps/shared/config/config.ts';

describe('a mapping of the operator', () => {
  const say = (mapping: unknown) =>
    parseConfig({ tools: { bank__pay: { mapping } } }, { baseDir: '/', stateDir: '/' }).tools['bank__pay']?.mapping;
  const parts = { action: { name: 'pay' }, resource: { type: 'account', id: '$params.arguments.to' } };

  it('is kept unchanged, or says that the default applies', () => {
    expect(say({ evaluation: parts })).toEqual({ evaluation: parts });
    expect(say('default')).toBe('default');
  });

  it.each([
    [{ evaluations: 1 }, 'evaluations is not an object'],
    [{ evaluation: { action: { name: '$person.sub' } } }, 'evaluation.action.name uses an unknown name'],
    [{}, 'exactly one member'],
  ])('that cannot be used stops the start: %j [COAZ-FW-24] [COAZ-FW-02]', (mapping, problem) => {
    expect(() => say(mapping)).toThrow(problem);
  });
});
