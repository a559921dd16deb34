import { validate } from '@cedar-policy/cedar-wasm/nodejs';
import { describe, expect, it } from '@jest/globals';
import { readSchema } from '../../../apps/pdp/engine/cedar/schema.ts';
import { readPolicies } from '../../../apps/pdp/engine/cedar/policies.ts';
import { InvalidPolicies, type PolicyProblem } from '../../../apps/pdp/engine/cedar/problems.ts';
import { validatePolicies } from '../../../apps/pdp/engine/cedar/validate.ts';

const SCHEMA = `
entity Team;
entity Subject in [Team] = { id: String, level?: Long };
entity Resource = { id: String };
action all, others;
action read in [all] appliesTo { principal: Subject, resource: Resource, context: { path: String } };
action write in [all] appliesTo { principal: Subject, resource: Resource, context: { size?: Long } };
action erase in [others] appliesTo { principal: Team, resource: Resource, context: {} };
namespace Other { action look appliesTo { principal: Subject, resource: Resource }; }
`;

/** Scope and condition of policies that are faulty or odd. */
const BROKEN: readonly (readonly [what: string, policy: string])[] = [
  [
    'an attribute that no entity has',
    '(principal, action == Action::"read", resource) when { principal.colour == "x" }',
  ],
  ['an attribute that may be missing', '(principal, action == Action::"read", resource) when { principal.level > 1 }'],
  ['a comparison of types', '(principal, action == Action::"read", resource) when { context.path == 1 }'],
  [
    'an attribute that only one action of several has',
    '(principal, action in [Action::"read", Action::"write"], resource) when { context.path == "x" }',
  ],
  [
    'an attribute that only one action of a group has',
    '(principal, action in Action::"all", resource) when { context.path == "x" }',
  ],
  ['an attribute that only one action of all has', '(principal, action, resource) when { context.path == "x" }'],
  ['an undeclared action', '(principal, action == Action::"reed", resource)'],
  [
    'an undeclared action in a condition',
    '(principal, action == Action::"read", resource) when { action == Action::"reed" }',
  ],
  [
    'another action in a condition',
    '(principal, action == Action::"read", resource) when { action == Action::"write" }',
  ],
  ['a group in a condition', '(principal, action == Action::"read", resource) when { action in Action::"others" }'],
  ['an undeclared type', '(principal == User::"x", action == Action::"read", resource)'],
  ['a principal that the action does not apply to', '(principal == Team::"x", action == Action::"read", resource)'],
  [
    'a condition that is never true',
    '(principal, action == Action::"read", resource) when { principal in Resource::"x" }',
  ],
  [
    'an action of another namespace',
    '(principal, action == Other::Action::"look", resource) when { principal.colour == "x" }',
  ],
  ['no action at all', '(principal, action in [], resource)'],
];
const SOUND = [
  '(principal, action, resource)',
  '(principal, action == Action::"read", resource) when { context.path == "x" }',
  '(principal, action in Action::"all", resource) when { principal has level && principal.level > 1 }',
  '(principal is Team, action == Action::"erase", resource)',
];

interface Found {
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
}

const ids = (policies: readonly string[]) =>
  policies.map((policy, index) => `@id("p${String(index).padStart(3, '0')}") permit ${policy};`);
const told = (problems: readonly PolicyProblem[]) => problems.map(({ message }) => message).sort();

async function inSlices(texts: readonly string[]): Promise<Found> {
  const { policies } = await readPolicies([{ file: 'a.cedar', text: texts.join('\n') }]);
  const { actions, schemaOf } = readSchema(SCHEMA);
  try {
    const warnings = await validatePolicies(policies, { text: SCHEMA, actions, schemaOf });
    return { errors: [], warnings: told(warnings) };
  } catch (error) {
    if (!(error instanceof InvalidPolicies)) throw error;
    return { errors: told(error.problems), warnings: [] };
  }
}

/** By Cedar alone: all policies against the whole schema. */
function whole(texts: readonly string[]): Found {
  const staticPolicies = Object.fromEntries(texts.map((text) => [/"(p\d+)"/.exec(text)?.[1] ?? '', text]));
  const answer = validate({ schema: SCHEMA, policies: { staticPolicies }, validationSettings: { mode: 'strict' } });
  if (answer.type === 'failure') throw new Error(answer.errors[0]?.message);
  const said = (found: typeof answer.validationErrors) =>
    found.map(({ error: { message, help, sourceLocations } }) => {
      const more = help ?? sourceLocations?.[0]?.label;
      return more ? `${message} (${more})` : message;
    });
  const errors = said(answer.validationErrors).sort();
  return { errors, warnings: errors.length > 0 ? [] : said(answer.validationWarnings).sort() };
}

describe('the errors of policies', () => {
  it.each(BROKEN)('are those that Cedar finds with the whole schema: %s', async (_what, policy) => {
    const texts = ids([policy, ...SOUND]);
    const found = whole(texts);
    expect(found.errors.length + found.warnings.length).toBeGreaterThan(0);
    expect(await inSlices(texts)).toEqual(found);
  });

  it('are found among many policies of any action', async () => {
    const many = Array.from({ length: 15 }, () => [...SOUND, ...BROKEN.map(([, policy]) => policy)]).flat();
    expect(await inSlices(ids(many))).toEqual(whole(ids(many)));
  });

  it('are empty for valid policies', async () => {
    expect(await inSlices(ids(SOUND))).toEqual({ errors: [], warnings: [] });
    expect(whole(ids(SOUND))).toEqual({ errors: [], warnings: [] });
  });
});
