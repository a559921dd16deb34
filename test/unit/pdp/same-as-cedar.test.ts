import { describe, expect, it } from '@jest/globals';
import { isAuthorized, type EntityJson } from '@cedar-policy/cedar-wasm/nodejs';
import { createEvaluator, type EvaluatorFiles } from '../../../apps/pdp/engine/cedar/evaluator.ts';
import { times } from '../../support/regime.ts';

const SCHEMA = `
entity Team = { id: String, lead?: Subject };
entity Subject in [Team] = { type: String, id: String, level?: Long, properties: { type?: String, n?: Long } } tags String;
entity Resource = { type: String, id: String, owner?: Subject, properties: {} };
action read appliesTo { principal: Subject, resource: Resource, context: { id?: String } };
`;
const STRANGER = { __entity: { type: 'Subject', id: 'p|stranger' } };
const TEAM = { type: 'Team', id: 't' };
const KNOWN: EntityJson[] = [
  { uid: TEAM, attrs: { id: 'team', lead: STRANGER }, parents: [] },
  { uid: { type: 'Subject', id: 'p|alice' }, attrs: { level: 7 }, parents: [TEAM], tags: { x: 'y' } },
  { uid: { type: 'Subject', id: 'p|stranger' }, attrs: {}, parents: [] },
  { uid: { type: 'Resource', id: 'r|owned' }, attrs: { owner: STRANGER }, parents: [] },
];

/**
 * Every way to an attribute, a tag or a group: of the request's entities, of entities they refer to, and of entities
 * that policies name.
 */
const CONDITIONS = [
  'true',
  'principal.type == "p"',
  'principal["type"] == "p"',
  'principal.id == "alice"',
  'principal["id"] like "al*"',
  'principal has type',
  'principal has "id"',
  'principal has properties.type && principal.properties.type == "p"',
  'principal.properties has type',
  'resource.id == "owned"',
  'resource has owner.id && resource.owner.id == "stranger"',
  'resource has owner && resource.owner["type"] == "p"',
  '(if resource has owner then resource.owner else principal).id == "stranger"',
  '[principal.id, "x"].contains("alice")',
  '{ "of": principal }.of.id == "alice"',
  'principal in Team::"t" && Team::"t" has lead && Team::"t".lead.type == "p"',
  'context has id && context.id == principal.id',
  'principal == Subject::"p|alice"',
  'Team::"t" has lead && Team::"t".lead == Subject::"p|stranger"',
  'Team::"t" has lead.type && Team::"t".lead.type == "p"',
  '(if principal.type == "p" then Team::"t" else Team::"u") has lead',
  '{ "a": Team::"t" }.a has lead',
  'Subject::"p|alice" in Team::"t"',
  'Subject::"p|alice" is Subject in Team::"t"',
  'Subject::"p|alice" has level && Subject::"p|alice".level > 5',
  'Subject::"p|alice" in (if Subject::"p|alice" has level then Team::"t" else Team::"u")',
  'principal.hasTag("x") && principal.getTag("x") == "y"',
  'Subject::"p|alice".hasTag("x") && Subject::"p|alice".getTag("x") == "y"',
  'principal has level && principal.level + 9223372036854775807 > 0',
  'principal.properties has n && principal.properties.n > 0 && resource.type == "r"',
];

const named = ({ uid, attrs, ...others }: EntityJson): EntityJson => {
  const { type, id } = 'type' in uid ? uid : uid.__entity;
  const [kind = '', name = ''] = id.split('|');
  if (type === 'Team') return { uid, attrs, ...others };
  return { uid, attrs: { type: kind, id: name, properties: {}, ...attrs }, ...others };
};

const REQUESTS = ['alice', 'bob', 'stranger'].flatMap((id) =>
  ['owned', 'other'].flatMap((thing) =>
    [{}, { n: 1 }, { type: 'p' }].map((properties) => ({
      subject: { type: 'p', id, properties },
      action: { name: 'read' },
      resource: { type: 'r', id: thing },
      context: { id: 'alice' },
    })),
  ),
);

/** Cedar's own answer when it gets every entity with all attributes. */
function cedarSays(policy: string, { subject, resource, context }: (typeof REQUESTS)[number]): string {
  const principal = { type: 'Subject', id: `p|${subject.id}` };
  const thing = { type: 'Resource', id: `r|${resource.id}` };
  const asked = [
    { uid: principal, attrs: { properties: subject.properties }, parents: [] },
    { uid: thing, attrs: {}, parents: [] },
  ];
  const byUid = new Map([...asked, ...KNOWN].map((entity) => [JSON.stringify(entity.uid), entity]));
  const own = byUid.get(JSON.stringify(principal)) ?? { uid: principal, attrs: {}, parents: [] };
  byUid.set(JSON.stringify(principal), { ...own, attrs: { ...own.attrs, properties: subject.properties } });
  const answer = isAuthorized({
    principal,
    action: { type: 'Action', id: 'read' },
    resource: thing,
    context,
    schema: SCHEMA,
    policies: { staticPolicies: { a: policy } },
    entities: [...byUid.values()].map(named),
  });
  if (answer.type === 'failure') throw new Error(JSON.stringify(answer.errors));
  return answer.response.diagnostics.errors.length > 0 ? 'failed' : answer.response.decision;
}

const engineOf = (policy: string, schema = SCHEMA, entities: EvaluatorFiles['entities'] = JSON.stringify(KNOWN)) =>
  createEvaluator({ schema, entities, policies: [{ file: 'a', text: `@id("a") ${policy}` }] });

describe('the evaluator, compared with Cedar itself', () => {
  /** Each condition with one keyword in every test run, with both in a thorough one. */
  const keywordsFor = (condition: string) =>
    times(1, 2) === 2 ? ['when', 'unless'] : [condition.length % 2 === 0 ? 'when' : 'unless'];

  it.each(CONDITIONS)('answers as Cedar does when Cedar gets every entity: %s', async (condition) => {
    for (const keyword of keywordsFor(condition)) {
      const policy = `permit (principal, action, resource) ${keyword} { ${condition} };`;
      const evaluator = await engineOf(policy);
      const answers = REQUESTS.map((request) => {
        const prepared = evaluator.prepare(request);
        return prepared.kind === 'ready' ? evaluator.evaluate(prepared).kind : prepared.kind;
      });
      evaluator.release();
      expect(answers).toEqual(REQUESTS.map((request) => cedarSays(policy, request)));
    }
  });

  it.each(['type: Long, id: String', 'type: String, id: Set<String>'])(
    'fails where the schema wants %s, which no request has',
    async (names) => {
      const schema = SCHEMA.replace(
        'entity Subject in [Team] = { type: String, id: String',
        `entity Subject in [Team] = { ${names}`,
      );
      expect(schema).not.toBe(SCHEMA);
      const evaluator = await engineOf('permit (principal, action, resource);', schema, '[]');
      const [request] = REQUESTS;
      const prepared = request && evaluator.prepare(request);
      expect(prepared?.kind === 'ready' && evaluator.evaluate(prepared).kind).toBe('failed');
      evaluator.release();
    },
  );
});
