import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseConfig } from '../../../../../apps/shared/config/config.ts';
import { templateOf } from '../../../../../apps/shared/rules/rules.ts';

const AT = { baseDir: '/', stateDir: '/' };
const OWN = { people: 'mallory' };
const stages = [{ name: 'board', approvers: { groups: ['board'] } }];

const name = fc.oneof(
  fc.constantFrom('approver', 'board', 'constructor', 'toString', 'approver ', 'Approver', 'approve files__*'),
  fc.string({ minLength: 1, maxLength: 20 }),
);

/** The configuration of a rule with approvers of its own, beside a named template and rules that use it and the usual one. */
function configOf(rule: string, template: string) {
  const rules = [
    { approve: 'prod__*', name: 'a rule without by' },
    { approve: 'pay__*', name: 'a rule with a named template', by: template },
    { approve: 'files__*', name: rule, by: OWN },
  ];
  try {
    return parseConfig({ approvals: { templates: { [template]: { stages } } }, rules }, AT);
  } catch {
    return undefined;
  }
}

const approversOf = (config: NonNullable<ReturnType<typeof configOf>>, template: string) =>
  Object.hasOwn(config.approvals.templates, template)
    ? JSON.stringify(config.approvals.templates[template]?.stages)
    : 'the usual ones';

it('the approvers of a rule never decide for a template of any name, nor for rules without by', () => {
  let accepted = 0;
  fc.assert(
    fc.property(name, name, (rule, template) => {
      const config = configOf(rule, template);
      if (config === undefined) return;
      accepted += 1;
      const byName = new Map(
        (config.pdp.rules?.all ?? []).map((one) => [one.name, approversOf(config, templateOf(one))]),
      );
      const [usual, named] = [byName.get('a rule without by') ?? '', byName.get('a rule with a named template') ?? ''];
      expect([rule, template, usual.includes('mallory')]).toEqual([rule, template, false]);
      expect([rule, template, named]).toEqual([rule, template, expect.stringContaining('"board"')]);
      expect(named.includes('mallory')).toBe(false);
      expect(byName.get(rule)).toContain('mallory');
    }),
    {
      examples: [
        ['approver', 'board'],
        ['board', 'board'],
        ['approver', 'approver'],
        ['x', 'approver'],
      ],
      numRuns: 300,
    },
  );
  expect(accepted).toBeGreaterThan(50);
  expect([configOf('approver', 'board'), configOf('board', 'board'), configOf('approver', 'approver')]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});
