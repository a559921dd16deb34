import { expect, it } from '@jest/globals';
import { createEvaluator } from '../../../apps/pdp/engine/cedar/evaluator.ts';
import { answerByPolicy } from '../../../apps/pdp/offer/requestable.ts';
import { aTransfer } from '../../support/pdp.ts';

const SCHEMA = `
entity Subject; entity Resource;
action all; action writes in [all]; action elsewhere;
action write in [writes] appliesTo { principal: Subject, resource: Resource, context: {} };
action read in [all] appliesTo { principal: Subject, resource: Resource, context: {} };
action look appliesTo { principal: Subject, resource: Resource, context: {} };
`;
const decide = async (policy: string, action: string) =>
  answerByPolicy(
    await createEvaluator({ schema: SCHEMA, entities: '[]', policies: [{ file: 'a', text: `@id("a") ${policy}` }] }),
    {
      ...aTransfer(),
      action: { name: action },
      context: {},
    },
  ).kind;

it.each([
  ['permit (principal, action in Action::"all", resource);', { write: 'permit', read: 'permit', look: 'deny' }],
  ['permit (principal, action in Action::"writes", resource);', { write: 'permit', read: 'deny', look: 'deny' }],
  [
    'permit (principal, action, resource) when { action in Action::"all" };',
    { write: 'permit', read: 'permit', look: 'deny' },
  ],
  [
    'permit (principal, action, resource) unless { action in Action::"writes" };',
    { write: 'deny', read: 'permit', look: 'permit' },
  ],
  [
    'permit (principal, action, resource) when { action == Action::"look" };',
    { write: 'deny', read: 'deny', look: 'permit' },
  ],
  [
    'permit (principal, action, resource) unless { action in [Action::"elsewhere", Action::"look"] };',
    { write: 'permit', read: 'permit', look: 'deny' },
  ],
])('each action is in its groups and in no others: %s', async (policy, expected) => {
  const actions = ['write', 'read', 'look'];
  const entries = actions.map(async (action) => [action, await decide(policy, action)] as const);
  expect(Object.fromEntries(await Promise.all(entries))).toEqual(expected);
});
