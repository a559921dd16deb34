import { beforeAll, describe, expect, it } from '@jest/globals';
import { createEvaluator, type Evaluator } from '../../../apps/pdp/engine/cedar/evaluator.ts';
import { entityId, parseEntityId } from '../../../apps/pdp/engine/cedar/entities.ts';
import { readPolicyFiles, type PolicyFiles } from '../../../apps/pdp/engine/cedar/policy-folder.ts';
import { answerByPolicy } from '../../../apps/pdp/offer/requestable.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import { aTransfer, FIXTURE_POLICIES, loadEvaluator } from '../../support/pdp.ts';

let evaluator: Evaluator;
let files: PolicyFiles;
beforeAll(async () => {
  files = await readPolicyFiles(FIXTURE_POLICIES);
  evaluator = await loadEvaluator(FIXTURE_POLICIES);
});

const answer = (context: Record<string, unknown>) => answerByPolicy(evaluator, aTransfer(context));

describe('a request that cannot be turned into Cedar', () => {
  it.each([
    ['an amount as text', { amount: '50000' }, 'input_not_evaluable'],
    ['an amount with a fraction', { amount: 50_000.5 }, 'input_not_evaluable'],
    ['an amount beyond 64 bits', { amount: 1e30 }, 'input_not_evaluable'],
    ['an amount that JSON cannot count exactly', { amount: 2 ** 53 }, 'input_not_evaluable'],
    ['an amount that is an object', { amount: { __extn: { fn: 'decimal', arg: '1.0' } } }, 'input_not_evaluable'],
    ['a target that poses as an entity', { to: { __entity: { type: 'Subject', id: 'x' } } }, 'input_not_evaluable'],
    ['a target with half a character', { to: '\ud800' }, 'input_not_evaluable'],
    ['a decimal that is a number', { rate: 1.5 }, 'input_not_evaluable'],
    ['a decimal with too many digits', { rate: '1.55555' }, 'evaluation_failed'],
    ['no amount', { amount: undefined }, 'evaluation_failed'],
    ['an amount of null', { amount: null }, 'evaluation_failed'],
  ])('fails with %s, even where it would be permitted [PRJ-28]', (_name, context, reason) => {
    expect(answer({ amount: 10, ...context })).toMatchObject({ kind: 'failed', reason });
  });

  it('fails without a member that the schema requires, even if no policy reads it', async () => {
    const schema =
      'entity Subject; entity Resource; action a appliesTo { principal: Subject, resource: Resource, context: { x: Long } };';
    const policies = [{ file: 'a', text: '@id("a") permit (principal, action, resource);' }];
    const ask = async (context: { x?: number }) =>
      answerByPolicy(await createEvaluator({ schema, entities: '[]', policies }), {
        ...aTransfer(),
        action: { name: 'a' },
        context,
      }).kind;
    expect(await ask({ x: 1 })).toBe('permit');
    expect(await ask({})).toBe('failed');
  });

  it('fails for an action that the schema declares for other principals', async () => {
    const schema =
      'entity Robot; entity Subject; entity Resource; action a appliesTo { principal: Robot, resource: Resource, context: {} };';
    const policies = [{ file: 'a', text: '@id("a") permit (principal, action, resource);' }];
    const robots = await createEvaluator({ schema, entities: '[]', policies });
    expect(answerByPolicy(robots, { ...aTransfer(), action: { name: 'a' }, context: {} }).kind).toBe('failed');
  });

  it('names the place, not the value', () => {
    expect(answer({ amount: 'hunter2' })).toEqual({
      kind: 'failed',
      reason: 'input_not_evaluable',
      cause: 'context.amount is not a whole number',
    });
  });

  it('is permitted with the same members in their declared types', () => {
    expect(answer({ amount: 10, to: 'acct-1', rate: '1.5', memo: null, unknown: { deep: [1.5, null] } }).kind).toBe(
      'permit',
    );
  });
});

describe('the evaluator', () => {
  it('fails when a policy cannot be evaluated, where Cedar alone would skip it and permit', () => {
    const request = (a: number, b: number) =>
      answerByPolicy(evaluator, { ...aTransfer(), action: { name: 'add_up' }, context: { a, b } });
    expect(request(2, 3).kind).toBe('permit');
    expect(request(20, 30).kind).toBe('requestable');
    expect(request(2 ** 52, 2 ** 52)).toEqual({
      kind: 'failed',
      reason: 'evaluation_failed',
      cause: 'policies could not be evaluated: add-up-large',
    });
  });

  it('distinguishes entities of two types that have the same id [AZ-IM-04]', () => {
    const read = (type: string, id = 'alice') =>
      answerByPolicy(evaluator, {
        subject: { type, id },
        action: { name: 'read' },
        resource: { type: 'record', id: 'record-1' },
        context: {},
      }).kind;
    expect(read('user')).toBe('permit');
    expect(read('service')).toBe('deny');
    expect(read('us', 'er|alice')).toBe('deny');
    expect(read('user|alice', '')).toBe('deny');
  });

  it('knows the groups of a subject, and their groups, from its own data', () => {
    const audit = (id: string, properties = {}) =>
      answerByPolicy(evaluator, {
        subject: { type: 'identity', id, properties },
        action: { name: 'audit' },
        resource: { type: 'ledger', id: '1' },
        context: {},
      }).kind;
    expect(audit('carol@example.com')).toBe('permit');
    expect(audit('alice@example.com', { parents: [{ type: 'Team', id: 'finance' }] })).toBe('deny');
  });

  it('takes attributes that give power only from its own data', () => {
    const edit = (id: string, properties: Record<string, unknown> = {}) =>
      answerByPolicy(evaluator, {
        subject: { type: 'identity', id, properties, roles: ['treasurer'] } as never,
        action: { name: 'can_edit_user' },
        resource: { type: 'user', id: '1' },
        context: { roles: ['treasurer'] },
      }).kind;
    expect(edit('carol@example.com')).toBe('permit');
    expect(edit('stranger', { roles: ['treasurer'] })).toBe('deny');
  });

  it('denies an action that no schema declares, without an alarm', () => {
    expect(answerByPolicy(evaluator, { ...aTransfer(), action: { name: 'launch' } })).toEqual({
      kind: 'deny',
      reason: 'not_permitted',
      policies: [],
    });
  });

  it('never sees an approval that the caller wrote [PRJ-27]', () => {
    const invented = { approval: { verified: true, template: 'treasury_approval' } };
    expect(answer(invented).kind).toBe('requestable');
    expect(
      answerByPolicy(evaluator, { ...aTransfer(), action: { name: 'wire_transfer', properties: invented } }).kind,
    ).toBe('requestable');
  });
});

describe('a denial', () => {
  it('is requestable if an approval would lift it, and names the policy that asks', () => {
    expect(answer({})).toEqual({
      kind: 'requestable',
      template: 'treasury_approval',
      reason: 'approval_required',
      title: 'Treasury approval',
      description: 'Transfers above the limit.',
      policies: ['transfer-large'],
    });
  });
  it('is requestable if only a permit with an approval exists', () => {
    expect(answerByPolicy(evaluator, { ...aTransfer(), action: { name: 'deploy' }, context: {} })).toMatchObject({
      kind: 'requestable',
      template: 'change_advisory',
      reason: 'change_advisory_required',
      policies: ['deploy-approved'],
    });
  });
  it.each([
    ['a forbid that is not requestable applies too', { amount: 2_000_000 }, 'hard_limit'],
    ['the target is sanctioned', { to: 'acct-666' }, 'sanctioned_destination'],
  ])('is final when %s', (_name, context, reason) => {
    expect(answer(context)).toMatchObject({ kind: 'deny', reason });
  });
  it('is final if no single approval would lift it', () => {
    expect(answerByPolicy(evaluator, { ...aTransfer(), action: { name: 'freeze' }, context: {} }).kind).toBe('deny');
  });
  it('is final if a base permit is missing as well', () => {
    const notAnAccount = { ...aTransfer(), resource: { type: 'wallet', id: '1' } };
    expect(answerByPolicy(evaluator, notAnAccount)).toMatchObject({ kind: 'deny', reason: 'not_permitted' });
  });
  it('becomes a permit only with a verified approval of its template', () => {
    const withApproval = (template: string, context = {}) =>
      answerByPolicy(evaluator, aTransfer(context), { verified: true, template }).kind;
    expect(withApproval('treasury_approval')).toBe('permit');
    expect(withApproval('change_advisory')).toBe('requestable');
    expect(withApproval('treasury_approval', { amount: 2_000_000 })).toBe('deny');
  });
});

describe('a policy folder', () => {
  const policy = (text: string): PolicyFiles => ({ ...files, policies: [{ file: 'a.cedar', text }] });

  it.each([
    ['a policy without an id', 'permit (principal, action, resource);', /^a\.cedar:1:1: a policy without @id/],
    ['a syntax error', '@id("a")\npermit (principal, action, resource', /^a\.cedar:2:\d+: /],
    [
      'an id twice',
      '@id("a") permit (principal, action, resource); @id("a") forbid (principal, action, resource);',
      /@id\("a"\)/,
    ],
    ['an unknown attribute', '@id("a") permit (principal, action, resource) when { principal.rank == "x" };', /rank/],
    ['an unknown action', '@id("a") permit (principal, action == Action::"fly", resource);', /fly/],
    [
      '@requestable without a template',
      '@id("a") @requestable permit (principal, action, resource);',
      /@requestable of "a"/,
    ],
    ['a slot', '@id("a") permit (principal == ?principal, action, resource);', /slot/],
  ])('is refused with %s', async (_name, text, message) => {
    await expect(createEvaluator(policy(text))).rejects.toThrow(message);
    await expect(createEvaluator(policy(text))).rejects.toThrow(CountersignError);
  });

  const entity = (id: string, attrs: object) => JSON.stringify([{ uid: { type: 'Subject', id }, attrs, parents: [] }]);
  it.each([
    ['broken entities', '[', /not JSON/],
    ['an entity with an undeclared attribute', entity('user|x', { rank: 1 }), /rank/],
    ['an entity with an attribute of another type', entity('user|x', { status: 1 }), /status/],
    ['an entity whose name has no type', entity('x', {}), /type\|id/],
    ['an entity that sets the request’s own attributes', entity('user|x', { properties: {} }), /properties/],
  ])('is refused with %s', async (_name, entities, message) => {
    await expect(createEvaluator({ ...files, entities })).rejects.toThrow(message);
  });

  it('is refused if callers could name entities', async () => {
    const schema =
      'entity Subject; entity Resource; action a appliesTo { principal: Subject, resource: Resource, context: { owner?: Subject } };';
    await expect(
      createEvaluator({
        schema,
        entities: '[]',
        policies: [{ file: 'a', text: '@id("a") permit (principal, action, resource);' }],
      }),
    ).rejects.toThrow(/Entities can only come from entities\.json/);
  });

  it('is refused if it does not exist', async () => {
    await expect(readPolicyFiles('/does/not/exist')).rejects.toThrow(/no policy folder/);
  });
});

describe('an entity id', () => {
  it.each([
    ['user', 'alice'],
    ['a|b', 'c'],
    ['a', 'b|c'],
    ['a%7Cb', '100%|'],
    ['', ''],
  ])('keeps type %j and id %j apart', (type, id) => {
    expect(parseEntityId(entityId({ type, id }))).toEqual({ type, id });
  });
});
