import { describe, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createEvaluator } from '../../../apps/pdp/engine/cedar/evaluator.ts';
import { readPolicyFiles } from '../../../apps/pdp/engine/cedar/policy-folder.ts';
import { InvalidPolicies } from '../../../apps/pdp/engine/cedar/problems.ts';
import { DEFAULT_POLICIES } from '../../support/pdp.ts';

const SCHEMA = `
type Approval = { verified: Bool, template: String };
entity Subject = { type: String, id: String, active?: Bool };
entity Resource = { type: String, id: String };
action "tools/call" appliesTo {
  principal: Subject, resource: Resource, context: { amount?: Long, path?: String, approval?: Approval }
};`;
const APPROVED = 'context has approval && context.approval.verified && context.approval.template == "boss"';
const SUBJECT = 'resource.type == "tool" && ["a", "b"].contains(resource.id)';

const load = (policy: string) =>
  createEvaluator({ schema: SCHEMA, entities: '[]', policies: [{ file: 'a.cedar', text: policy }] });
const permit = (conditions: string) =>
  `\n@id("ask") @requestable("boss")\npermit (principal, action == Action::"tools/call", resource)\n${conditions};`;
const problemsOf = async (policy: string): Promise<string[]> => {
  try {
    (await load(policy)).release();
    return [];
  } catch (error) {
    if (error instanceof InvalidPolicies) return error.problems.map(({ message }) => message);
    throw error;
  }
};

const warningsOf = async (policy: string): Promise<string[]> => {
  const evaluator = await load(policy);
  evaluator.release();
  return evaluator.warnings.map(({ message }) => message);
};

describe('a permit that is @requestable', () => {
  it.each([
    ['as policies/README.md writes it', `when { ${SUBJECT} && ${APPROVED} }`],
    ['with the approval first', `when { ${APPROVED} && ${SUBJECT} }`],
    ['with a condition of its own', `when { ${SUBJECT} } when { ${APPROVED} }`],
    ['in reverse', `when { ${SUBJECT} } unless { !(${APPROVED}) }`],
    ['by members in brackets', 'when { context has "approval" && context["approval"]["template"] == "boss" }'],
    ['by one look into the approval', 'when { context has approval.template && "boss" == context.approval.template }'],
    [
      'by one of several templates',
      'when { context has approval && ["boss", "chief"].contains(context.approval.template) }',
    ],
    [
      'by one template or the other',
      'when { context has approval && (context.approval.template == "chief" || context.approval.template == "boss") }',
    ],
    ['by a choice', 'when { if context has approval then context.approval.template == "boss" else false }'],
    [
      'for some, in either of two cases',
      `when { (resource.id == "a" && ${APPROVED}) || (resource.id == "b" && ${APPROVED}) }`,
    ],
    ['whose arithmetic may fail', `when { context has amount && context.amount * 2 > 5 && ${APPROVED} }`],
  ])('is accepted %s', async (_how, conditions) => {
    expect(await problemsOf(permit(conditions))).toEqual([]);
    expect(await warningsOf(permit(conditions))).toEqual([]);
  });

  it.each([
    ['has no condition', ''],
    ['has lost the approval', `when { ${SUBJECT} }`],
    ['lets another way in', `when { ${SUBJECT} && (${APPROVED} || principal.id == "root") }`],
    ['lets one way in without', `when { (resource.id == "a" && ${APPROVED}) || resource.id == "b" }`],
    ['takes either', `when { ${SUBJECT} || (${APPROVED}) }`],
    ['takes the opposite', `when { ${SUBJECT} && !(${APPROVED}) }`],
    ['has unless for when', `when { ${SUBJECT} } unless { ${APPROVED} }`],
    ['needs that there is none', 'when { !(context has approval) }'],
    [
      'forgets requests without an approval',
      'when { if context has approval then context.approval.template == "boss" else true }',
    ],
    ['asks only if there is one', 'when { !(context has approval) || context.approval.template == "boss" }'],
    ['permits small amounts without one', `when { (context has amount && context.amount < 5) || (${APPROVED}) }`],
    ['is true anyway', `when { true || (${APPROVED}) }`],
  ])('is refused if it %s', async (_how, conditions) => {
    expect(await problemsOf(permit(conditions))).toEqual([
      expect.stringMatching(
        /^"ask" is @requestable\("boss"\) and permits without an approval\. Add to what has to hold: context has/,
      ),
    ]);
  });

  it.each([
    ['any approval will do', `when { ${SUBJECT} && context has approval && context.approval.verified }`],
    ['only its presence is checked', 'when { context has approval }'],
    ['it may be of another template', 'when { context has approval && context.approval.template != "other" }'],
    [
      'every template with the same beginning passes',
      'when { context has approval && context.approval.template like "bo*" }',
    ],
    [
      'the comparison of its template can be skipped',
      'when { context has approval && (context.approval.template == "boss" || resource.id == "a") }',
    ],
  ])('has a warning if %s', async (_how, conditions) => {
    expect(await problemsOf(permit(conditions))).toEqual([]);
    expect(await warningsOf(permit(conditions))).toEqual([
      expect.stringMatching(/permits with an approval of any template\. Add/),
    ]);
  });

  it.each([
    ['another template', APPROVED.replace('"boss"', '"bosses"')],
    ['two templates at once', `${APPROVED} && context.approval.template == "chief"`],
    ['an unverified one', APPROVED.replace('context.approval.verified', '!context.approval.verified')],
  ])('is refused if it wants %s', async (_how, condition) => {
    expect(await problemsOf(permit(`when { ${condition} }`))).toEqual([
      expect.stringMatching(/an approval of that template never makes it permit\. Add/),
    ]);
  });
});

it('warns about a @requestable forbid that ignores approvals', async () => {
  const text = `@id("a") @requestable("boss") forbid (principal, action, resource) when { ${SUBJECT} }`;
  for (const [policy, warnings] of [
    [`${text};`, [expect.stringMatching(/forbids with an approval as well\. Add: unless/)]],
    [`${text} unless { ${APPROVED} };`, []],
  ] as const) {
    expect(await warningsOf(policy)).toEqual(warnings);
  }
});

describe('the example policies', () => {
  const CONJUNCTS = [
    'context has approval',
    'context.approval.verified',
    'context.approval.template == "operator_approval"',
  ];
  /** Each changes one of the conjuncts so that another request is permitted than before; together with all of them. */
  const CHANGES: readonly (readonly [string, (text: string) => string])[] = [
    [
      'without all of it',
      (text) =>
        CONJUNCTS.reduce(
          (rest, one) => rest.replace(new RegExp(String.raw`\s*&&\s*${one.replace('.', '[.]')}`), ''),
          text,
        ),
    ],
    // An unverified approval never gets to policies, so nothing changes where one would do.
    [
      'with an alternative to: context has approval',
      (text) => text.replace('context has approval', '(context has approval || true)'),
    ],
    ...CONJUNCTS.map(
      (one) => [`with the opposite of: ${one}`, (text: string) => text.replace(one, `!(${one})`)] as const,
    ),
    ['with another template', (text) => text.replace('template == "operator_approval"', 'template == "another"')],
    ['with "or" for "and"', (text) => text.replace('&&\n  context has approval', '||\n  context has approval')],
    [
      'with a second way in',
      (text) => text.replace('"operator_approval"\n}', '"operator_approval" || principal.id == "root"\n}'),
    ],
  ];

  /** Each also takes an approval of another template. */
  const WIDENED: typeof CHANGES = [
    ['without the template', (text) => text.replace(/&&\s*context\.approval\.template == "operator_approval"/, '')],
    [
      'with an alternative to the template',
      (text) => text.replace(/context\.approval\.template == "operator_approval"/, '($& || true)'),
    ],
    ['with every other template', (text) => text.replace('template == "operator_approval"', 'template != "another"')],
  ];

  async function loadChanged(change: (text: string) => string) {
    const files = await readPolicyFiles(DEFAULT_POLICIES);
    const changed = files.policies.map(({ file, text }) => ({
      file,
      text: file === 'files.cedar' ? change(text) : text,
    }));
    expect(changed).not.toEqual(files.policies);
    return async () => {
      const evaluator = await createEvaluator({ ...files, policies: changed });
      evaluator.release();
      return evaluator.warnings;
    };
  }

  it.each(CHANGES)('are refused %s', async (_change, change) => {
    const load = await loadChanged(change);
    await expect(load()).rejects.toThrow(/files\.cedar:\d+:\d+: /);
  });

  it.each(WIDENED)('have a warning %s', async (_change, change) => {
    expect(await (await loadChanged(change))()).toEqual([
      expect.objectContaining({ file: 'files.cedar', message: expect.stringMatching(/an approval of any template/) }),
    ]);
  });

  it('are the ones in policies/README.md, and each of them is accepted', async () => {
    const text = await readFile(join(DEFAULT_POLICIES, 'README.md'), 'utf8');
    const shown = [...text.matchAll(/^```cedar\n(.*?)^```/gms)]
      .map(([, cedar = '']) => cedar)
      .filter((cedar) => cedar.includes('@requestable'));
    expect(shown.length).toBeGreaterThan(0);
    for (const cedar of shown)
      expect((await problemsOf(cedar)).filter((one) => one.includes('@requestable'))).toEqual([]);
  });
});
