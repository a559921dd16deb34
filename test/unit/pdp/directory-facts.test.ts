import { describe, expect, it } from '@jest/globals';
import { createEvaluator } from '../../../apps/pdp/engine/cedar/evaluator.ts';
import { answerByPolicy } from '../../../apps/pdp/offer/requestable.ts';
import { readDirectory } from '../../../apps/shared/directory/directory.ts';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { aGroup, aUser, directoryText } from '../../support/directory.ts';
import { aCall, SCHEMA } from '../../support/policy-folder.ts';

const ENTERPRISE = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User';
const directory = readDirectory(
  directoryText(
    aUser('alice', { [ENTERPRISE]: { manager: { value: 'bob' } } }),
    aUser('bob', { displayName: 'Bob' }),
    aUser('carol', { active: false }),
    aGroup('treasury', ['alice']),
    aGroup('finance', ['treasury']),
    aGroup('directors', ['bob']),
  ),
  'userName',
);

const engineFor = (condition: string, of: { entities?: object[]; schema?: string; withoutDirectory?: boolean } = {}) =>
  createEvaluator({
    schema: of.schema ?? SCHEMA,
    entities: JSON.stringify(of.entities ?? []),
    policies: [{ file: 'a.cedar', text: `@id("a") permit (principal, action, resource) when { ${condition} };` }],
    directory: of.withoutDirectory ? undefined : directory,
  });
const asks =
  (condition: string, of?: Parameters<typeof engineFor>[1]) =>
  async (subject: string, properties: JsonObject = {}) =>
    answerByPolicy(await engineFor(condition, of), aCall('x', subject, properties)).kind;

describe('facts from the directory', () => {
  it('are visible to policies: nested groups, active, and the manager', async () => {
    expect(await asks('principal in Group::"finance"')('alice')).toBe('permit');
    expect(await asks('principal in Group::"finance"')('bob')).toBe('deny');
    expect(await asks('principal has active && principal.active')('alice')).toBe('permit');
    expect(await asks('principal has active && principal.active')('carol')).toBe('deny');
    expect(await asks('principal has displayName && principal.displayName == "Bob"')('bob')).toBe('permit');
    expect(await asks('principal has manager && principal.manager == Subject::"identity|bob"')('alice')).toBe('permit');
    expect(await asks('principal has manager && principal.manager in Group::"directors"')('alice')).toBe('permit');
  });

  it('apply only to known people', async () => {
    const evaluator = await engineFor('principal in Group::"finance"');
    const tool = { ...aCall('x'), subject: { type: 'service', id: 'alice' } };
    expect(answerByPolicy(evaluator, tool).kind).toBe('deny');
    expect(await asks('principal has active')('mallory')).toBe('deny');
  });

  it('are merged with entities.json, which may not set the same attributes', async () => {
    const alice = (attrs: object) => [{ uid: { type: 'Subject', id: 'identity|alice' }, attrs, parents: [] }];
    const both = 'principal has status && principal.status == "new" && principal in Group::"treasury"';
    expect(await asks(both, { entities: alice({ status: 'new' }) })('alice')).toBe('permit');
    const twice = () => engineFor('true', { entities: alice({ active: true }) });
    await expect(twice()).rejects.toThrow(
      /^entities\.json: Subject::"identity\|alice" sets "active", which the directory says/,
    );
  });

  it('need no declaration in the schema', async () => {
    const schema =
      'entity Subject = { type: String, id: String }; entity Resource; action "tools/call" appliesTo { principal: Subject, resource: Resource };';
    expect(await asks('principal.id == "alice"', { schema })('alice')).toBe('permit');
  });

  it('have the manager as text if the schema declares a String', async () => {
    const schema = SCHEMA.replace('manager?: Subject', 'manager?: String');
    expect(await asks('principal has manager && principal.manager == "bob"', { schema })('alice')).toBe('permit');
  });

  it.each([
    ['groups', 'principal in Group::"finance"'],
    ['an active account', 'principal has active && principal.active'],
    ['a status', 'principal has status && principal.status == "trusted"'],
    ['a manager', 'principal has manager && principal.manager == Subject::"identity|bob"'],
  ])('never come from a request: %s', async (_what, condition) => {
    const forged = {
      groups: ['finance'],
      parents: [{ type: 'Group', id: 'finance' }, { __entity: { type: 'Group', id: 'finance' } }],
      active: true,
      status: 'trusted',
      manager: { __entity: { type: 'Subject', id: 'identity|bob' } },
    };
    for (const withoutDirectory of [true, false]) {
      const evaluator = await engineFor(condition, { withoutDirectory });
      const call = aCall('x', 'mallory', forged);
      const beside = { ...call, subject: { ...call.subject, ...forged } } as typeof call;
      const around = { ...call, context: forged as never };
      for (const request of [call, beside, around]) expect(answerByPolicy(evaluator, request).kind).toBe('deny');
    }
  });
});
