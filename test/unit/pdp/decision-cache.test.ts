import { describe, expect, it } from '@jest/globals';
import {
  type CedarAnswer,
  createDecisionCache,
  createEvaluator,
  type Evaluator,
} from '../../../apps/pdp/engine/cedar/evaluator.ts';
import { answerByPolicy } from '../../../apps/pdp/offer/requestable.ts';
import { cases } from '../../support/regime.ts';

const SCHEMA = `
entity Team = { lead?: Subject };
entity Subject in [Team] = { type: String, id: String, level?: Long, properties: { department?: String, on?: Bool } };
entity Resource in [Team] = { type: String, id: String, owner?: Subject, properties: { level?: Long } };
action read, write appliesTo {
  principal: Subject, resource: Resource, context: { n?: Long, approval?: { verified: Bool, template: String } }
};
`;
const ENTITIES = JSON.stringify([
  { uid: { type: 'Team', id: 't' }, attrs: { lead: { __entity: { type: 'Subject', id: 'p|stranger' } } } },
  { uid: { type: 'Subject', id: 'p|alice' }, attrs: { level: 7 }, parents: [{ type: 'Team', id: 't' }] },
  { uid: { type: 'Resource', id: 'r|owned' }, attrs: { owner: { __entity: { type: 'Subject', id: 'p|stranger' } } } },
]);

const IN_X = 'principal.properties has department && principal.properties.department == "x"';

/** Each reads another part of a request or of the evaluator's own entities. */
const CONDITIONS = [
  'true',
  IN_X,
  'principal.id == "bob"',
  'principal["id"] == "bob"',
  'principal.type == "p"',
  'principal == Subject::"p|bob"',
  'principal != Subject::"p|bob"',
  'principal in Team::"t"',
  'principal is Subject',
  'principal has level && principal.level > 5',
  'principal has properties.on && principal.properties.on',
  '[principal.properties].contains(principal.properties)',
  '[principal].contains(Subject::"p|bob")',
  '(if principal.properties has on then principal else Subject::"p|bob").id == "bob"',
  'resource.id == "owned"',
  'resource in Team::"t"',
  'resource.properties has level && resource.properties.level > 1',
  'resource has owner && resource.owner == principal',
  'resource has owner && resource.owner has properties.department && resource.owner.properties.department == "x"',
  'Subject::"p|bob" has properties.department && Subject::"p|bob".properties.department == "x"',
  'Resource::"r|owned" has owner && Resource::"r|owned".owner has properties.department && Resource::"r|owned".owner.properties.department == "x"',
  'context has n && context.n > 1',
  'context has n && context.n + 9223372036854775807 > 0',
];
const POLICIES = [
  ...CONDITIONS.map((condition) => `permit (principal, action, resource) when { ${condition} };`),
  // They read the same parts of a request.
  ...cases(CONDITIONS.slice(-2), CONDITIONS).map(
    (condition) => `permit (principal, action, resource) unless { ${condition} };`,
  ),
  'permit (principal == Subject::"p|bob", action, resource);',
  'permit (principal in Team::"t", action, resource);',
  'permit (principal is Subject in Team::"t", action, resource);',
  'permit (principal, action == Action::"read", resource);',
  'permit (principal, action, resource == Resource::"r|owned");',
  'permit (principal, action, resource is Resource in Team::"t");',
  '@requestable("one") permit (principal, action, resource) when { context has approval && context.approval.template == "one" && principal.id == "bob" };',
];

const each = <T>(...items: T[]) => items;
const REQUESTS = each('alice', 'bob', 'stranger', 'p').flatMap((id) =>
  each('x', 'y').flatMap((department) =>
    each('owned', 'other').flatMap((thing) =>
      each(
        { action: 'read', level: 1, context: {} },
        { action: 'write', level: 2, context: { n: 3, approval: { verified: true, template: 'one' } } },
      ).map(({ action, level, context }) => ({
        subject: { type: 'p', id, properties: { department } },
        action: { name: action },
        resource: { type: 'r', id: thing, properties: { level } },
        context,
      })),
    ),
  ),
);

const engineOf = (policy: string): Promise<Evaluator> =>
  createEvaluator({ schema: SCHEMA, entities: ENTITIES, policies: [{ file: 'a', text: `@id("a") ${policy}` }] });

/** The answers of one evaluator to all requests, in this order. */
async function answersOf(policy: string, requests: typeof REQUESTS) {
  const evaluator = await engineOf(policy);
  const [first, again] = [1, 2].map(() => requests.map((request) => answerByPolicy(evaluator, request)));
  evaluator.release();
  expect(again).toEqual(first);
  return first;
}

describe('an evaluator that has answered requests before', () => {
  // An answer that one request gets from the cache entry of another depends on their order.
  it.each(POLICIES)('answers independently of the order of requests: %s', async (policy) => {
    const backwards = await answersOf(policy, REQUESTS.toReversed());
    expect(backwards?.toReversed()).toEqual(await answersOf(policy, REQUESTS));
  });

  it.each([
    ['subject', { subject: { type: 'p', id: 'stranger', properties: { department: 'x' } } }],
    ['properties of the subject', { subject: { type: 'p', id: 'bob', properties: { department: 'y' } } }],
    ['action', { action: { name: 'write' } }],
    ['resource', { resource: { type: 'r', id: 'owned', properties: { level: 1 } } }],
    ['properties of the resource', { resource: { type: 'r', id: 'other', properties: { level: 2 } } }],
  ])('keeps requests apart that differ only in the %s', async (_part, other) => {
    const evaluator = await engineOf('permit (principal, action, resource);');
    const request = {
      subject: { type: 'p', id: 'bob', properties: { department: 'x' } },
      action: { name: 'read' },
      resource: { type: 'r', id: 'other', properties: { level: 1 } },
      context: {},
    };
    const keyOf = (of: typeof request) => {
      const prepared = evaluator.prepare(of);
      return prepared.kind === 'ready' ? prepared.cacheKey : undefined;
    };
    expect(keyOf({ ...request, ...other })).not.toBe(keyOf(request));
    expect(keyOf({ ...request })).toBe(keyOf(request));
    evaluator.release();
  });
});

describe('the decision cache', () => {
  const allow: CedarAnswer = { kind: 'allow', policies: ['a'] };

  it('evaluates a request once', async () => {
    const cache = createDecisionCache();
    let evaluations = 0;
    const evaluate = () => (evaluations++, allow);
    expect([cache('k', evaluate), cache('k', evaluate), evaluations]).toEqual([allow, allow, 1]);
  });

  it('evaluates a request again after a failure', async () => {
    const cache = createDecisionCache();
    cache('k', () => ({ kind: 'failed', cause: 'x' }));
    expect(cache('k', () => allow)).toEqual(allow);
  });

  it('does not cache the answer to a long request', async () => {
    const cache = createDecisionCache();
    let evaluations = 0;
    const evaluate = () => (evaluations++, allow);
    for (let times = 0; times < 2; times += 1) cache('k'.repeat(20_000), evaluate);
    expect(evaluations).toBe(2);
  });
});
