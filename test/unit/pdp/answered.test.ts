import { describe, expect, it } from '@jest/globals';
import { createAnswered, type EngineAnswer } from '../../../apps/pdp/cedar/answered.ts';
import { createEngine, type Engine } from '../../../apps/pdp/cedar/engine.ts';
import { answerByPolicy } from '../../../apps/pdp/cedar/requestable.ts';

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

/** What policies can look at, one after the other. */
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
  ...CONDITIONS.map((condition) => `permit (principal, action, resource) unless { ${condition} };`),
  'permit (principal == Subject::"p|bob", action, resource);',
  'permit (principal in Team::"t", action, resource);',
  'permit (principal is Subject in Team::"t", action, resource);',
  'permit (principal, action == Action::"read", resource);',
  'permit (principal, action, resource == Resource::"r|owned");',
  'permit (principal, action, resource is Resource in Team::"t");',
  '@requestable("one") permit (principal, action, resource) when { context has approval && context.approval.template == "one" && principal.id == "bob" };',
];

const each = <T>(...items: T[]) => items;
const QUESTIONS = each('alice', 'bob', 'stranger', 'p').flatMap((id) =>
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

const engineOf = (policy: string): Engine =>
  createEngine({ schema: SCHEMA, entities: ENTITIES, policies: [{ file: 'a', text: `@id("a") ${policy}` }] });

describe('an engine that has answered before', () => {
  it.each(POLICIES)('answers as one that is asked for the first time: %s', (policy) => {
    const fresh = QUESTIONS.map((question) => {
      const engine = engineOf(policy);
      const answer = answerByPolicy(engine, question);
      engine.release();
      return answer;
    });
    const lasting = engineOf(policy);
    const again = [1, 2].map(() => QUESTIONS.map((question) => answerByPolicy(lasting, question)));
    lasting.release();
    expect(again).toEqual([fresh, fresh]);
  });

  it('takes a request for one that it knows where policies cannot tell them apart', () => {
    const engine = engineOf(`permit (principal, action, resource) when { ${IN_X} };`);
    const identityOf = (question: (typeof QUESTIONS)[number]) => {
      const prepared = engine.prepare(question);
      return prepared.kind === 'ready' ? prepared.identity : undefined;
    };
    const [bob, stranger] = ['bob', 'stranger'].map((id) =>
      identityOf({
        subject: { type: 'p', id, properties: { department: 'x' } },
        action: { name: 'read' },
        resource: { type: 'r', id: 'other', properties: { level: 1 } },
        context: {},
      }),
    );
    expect(bob).toBe(stranger);
    engine.release();
  });
});

describe('answers that are kept', () => {
  const allow: EngineAnswer = { kind: 'allow', policies: ['a'] };

  it('are asked for once, but for failures', () => {
    const answered = createAnswered();
    let asked = 0;
    const ask = (answer: EngineAnswer) => () => (asked++, answer);
    expect([answered.answer('q', ask(allow)), answered.answer('q', ask(allow)), asked]).toEqual([allow, allow, 1]);
    answered.answer('f', ask({ kind: 'failed', cause: 'x' }));
    expect(answered.answer('f', ask(allow))).toEqual(allow);
  });

  it('are bounded: a long question is not kept', () => {
    const answered = createAnswered();
    let asked = 0;
    const ask = () => (asked++, allow);
    for (let times = 0; times < 2; times += 1) answered.answer('q'.repeat(20_000), ask);
    expect(asked).toBe(2);
  });
});
