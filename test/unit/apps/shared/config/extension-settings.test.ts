import { describe, expect, it } from '@jest/globals';
import { configuredTerms } from '../../../../../apps/approvals/templates.ts';
import { parseConfig } from '../../../../../apps/shared/config/config.ts';
import { EMPTY_DIRECTORY } from '../../../../../apps/shared/directory/directory.ts';

describe('more time for the stages of a template', () => {
  const NO_END = 'only a stage with an end of its own can be extended: set withinSeconds';
  const parse = (settings: object) => parseConfig(settings, { baseDir: '/', stateDir: '/' });
  const parsed = (more: object, ...stages: object[]) =>
    parse({ approvals: { templates: { payment: { stages, ...more } } } });
  const byRule = (by: object) => parse({ rules: [{ approve: 'files__*', by: { people: ['alice'], ...by } }] });
  const first = { name: 'a', approvers: { roles: ['approver'] } };

  it('captures how much in each stage with an end of its own, and in no other', () => {
    const second = { ...first, name: 'b', withinSeconds: 600 };
    const terms = configuredTerms(parsed({ maxExtensionSeconds: 60 }, first, second), EMPTY_DIRECTORY);
    const stages = terms({ template: 'payment' }, 'x')?.stages;
    expect(stages?.map(({ maxExtensionSeconds }) => maxExtensionSeconds)).toEqual([undefined, 60]);
  });

  it.each<[string, () => unknown, string]>([
    ['no stage with an end', () => parsed({ maxExtensionSeconds: 60 }, first), NO_END],
    ['no end in a rule', () => byRule({ maxExtensionSeconds: 60 }), NO_END],
    ['less than a minute', () => parsed({ maxExtensionSeconds: 59 }, { ...first, withinSeconds: 600 }), '60'],
  ])('is refused with %s', (_what, read, message) => {
    expect(read).toThrow(message);
  });
});
