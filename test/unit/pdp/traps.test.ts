import { describe, expect, it } from '@jest/globals';
import { createEvaluator, type EvaluatorFiles } from '../../../apps/pdp/engine/cedar/evaluator.ts';
import { answerByPolicy } from '../../../apps/pdp/offer/requestable.ts';
import type { EvaluationRequest } from '../../../workflows/domain/authzen/evaluation.ts';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';

const SCHEMA = `
type Approval = { verified: Bool, template: String };
entity Subject = { type: String, id: String, properties: { level?: Long, role?: String }, role?: String };
entity Resource = { type: String, id: String, properties: { size?: Long } };
action pay, look appliesTo {
  principal: Subject, resource: Resource, context: { amount?: Long, note?: String, approval?: Approval },
};
`;
const PERMIT = '@id("permit") permit (principal, action, resource);';
const LIMIT = '@id("limit") forbid (principal, action == Action::"pay", resource) when { context.amount > 100 };';

const files = (...policies: string[]): EvaluatorFiles => ({
  schema: SCHEMA,
  entities: '[]',
  policies: [{ file: 'a.cedar', text: policies.join('\n') }],
});
const request = (of: Partial<EvaluationRequest> = {}): EvaluationRequest => ({
  subject: { type: 'identity', id: 'alice' },
  action: { name: 'look' },
  resource: { type: 'tool', id: 'x' },
  context: {},
  ...of,
});
const kindOf = async (policies: string[], asked: EvaluationRequest) =>
  answerByPolicy(await createEvaluator(files(...policies)), asked).kind;

describe('requests that Cedar alone would misjudge', () => {
  // Strict validation requires `has` where a member may be missing, so a policy can fail only through values that no
  // schema can exclude.
  it('never permits a call whose forbid cannot be evaluated, and refuses such a policy if the schema shows it [PRJ-28]', async () => {
    await expect(createEvaluator(files(PERMIT, LIMIT))).rejects.toThrow(/amount/);
    const overflow = LIMIT.replace('context.amount', 'context has amount && context.amount * 2');
    const pay = (amount: number) => request({ action: { name: 'pay' }, context: { amount } });
    expect(await kindOf([PERMIT, overflow], pay(10))).toBe('permit');
    expect(await kindOf([PERMIT, overflow], pay(1_000))).toBe('deny');
    const beyond = overflow.replace('* 2', '* 9223372036854775807');
    expect(await kindOf([PERMIT, beyond], pay(1_000))).toBe('failed');
  });

  it.each([1.5, 1e30, 2 ** 53, -(2 ** 53), '10', true, [1], {}])(
    'does not count %j as a whole number, in any place [PRJ-28]',
    async (value) => {
      const places: EvaluationRequest[] = [
        request({ context: { amount: value } }),
        request({ subject: { type: 'identity', id: 'alice', properties: { level: value } } }),
        request({ resource: { type: 'tool', id: 'x', properties: { size: value } } }),
      ];
      for (const place of places) expect(await kindOf([PERMIT], place)).toBe('failed');
    },
  );

  it('treats a null member as absent [AZ-TR-14]', async () => {
    const nulls = { amount: null, note: null } as unknown as JsonObject;
    const absent = '@id("p") permit (principal, action, resource) unless { context has amount || context has note };';
    expect(await kindOf([absent], request({ context: nulls }))).toBe('permit');
    expect(await kindOf([absent], request({ context: { note: '' } }))).toBe('deny');
    const subject = { type: 'identity', id: 'alice', properties: null } as unknown as EvaluationRequest['subject'];
    expect(await kindOf([absent], request({ subject }))).toBe('permit');
  });

  it.each([
    'mcp-server',
    'https://types.example/user',
    '',
    '类型',
    'a::b',
    '"; permit(principal,action,resource);//',
    '1',
  ])('decides about entities of the type %j, which is not an identifier in Cedar [AZ-IM-04]', async (type) => {
    const own = `@id("p") permit (principal, action, resource) when { principal.type == ${JSON.stringify(type)} && resource.type == principal.type };`;
    const of = (subject: string, resource: string) =>
      kindOf([own], request({ subject: { type: subject, id: 'x' }, resource: { type: resource, id: 'x' } }));
    expect(await Promise.all([of(type, type), of('other', type), of(type, 'other')])).toEqual([
      'permit',
      'deny',
      'deny',
    ]);
  });

  it('ignores members that the schema does not declare, at any depth [AZ-TR-07] [AZ-IM-06]', async () => {
    const odd = { unknown: { deep: [{ __entity: { type: 'Subject', id: 'root' } }, 1.5, null, 1e30] }, __proto__x: 1 };
    const strange = {
      subject: { type: 'identity', id: 'alice', properties: odd, nickname: 'al' },
      action: { name: 'look', properties: odd },
      resource: { type: 'tool', id: 'x', properties: odd },
      context: odd,
    } as unknown as EvaluationRequest;
    expect(await kindOf([PERMIT], strange)).toBe('permit');
    expect(await kindOf(['@id("p") permit (principal, action, resource) when { principal has role };'], strange)).toBe(
      'deny',
    );
  });

  it('evaluates no policy for another action, tool or subject', async () => {
    const others = Array.from({ length: 40 }, (_, index) => [
      `@id("a${index}") permit (principal, action == Action::"pay", resource);`,
      `@id("r${index}") permit (principal, action, resource == Resource::"tool|other-${index}");`,
      `@id("p${index}") permit (principal == Subject::"identity|other-${index}", action, resource);`,
    ]).flat();
    const evaluator = await createEvaluator(files(PERMIT, ...others));
    const setsOf = (asked: EvaluationRequest) => {
      const prepared = evaluator.prepare(asked);
      return prepared.kind === 'ready' ? prepared.sets.length : undefined;
    };
    expect(setsOf(request())).toBe(1);
    expect(setsOf(request({ resource: { type: 'tool', id: 'other-7' } }))).toBe(2);
    expect(answerByPolicy(evaluator, request({ resource: { type: 'tool', id: 'other-7' } }))).toEqual({
      kind: 'permit',
      policies: ['permit', 'r7'],
    });
  });

  it('takes attributes that give power from its own data, never from a request [COAZ-SU-09]', async () => {
    const powerful =
      '@id("p") permit (principal, action, resource) when { principal has role && principal.role == "admin" };';
    const claims = { type: 'identity', id: 'alice', role: 'admin', properties: { role: 'admin' } };
    expect(await kindOf([powerful], request({ subject: claims }))).toBe('deny');
    const entities = JSON.stringify([{ uid: { type: 'Subject', id: 'identity|alice' }, attrs: { role: 'admin' } }]);
    const evaluator = await createEvaluator({ ...files(powerful), entities });
    expect(answerByPolicy(evaluator, request()).kind).toBe('permit');
    expect(answerByPolicy(evaluator, request({ subject: { ...claims, id: 'mallory' } })).kind).toBe('deny');
  });
});

describe('many policies', () => {
  it('are loaded in steps, and the process does other work in between', async () => {
    const many = Array.from({ length: 1_000 }, (_, index) => `@id("p${index}") permit (principal, action, resource);`);
    let turns = 0;
    let loading = true;
    const other = () => {
      turns += 1;
      if (loading) setImmediate(other);
    };
    other();
    const evaluator = await createEvaluator(files(...many));
    loading = false;
    // 20 to read them, 4 to validate them, 4 for each of the two actions to keep them.
    expect(turns).toBeGreaterThanOrEqual(32);
    expect(evaluator.policies.size).toBe(1_000);
  });
});
