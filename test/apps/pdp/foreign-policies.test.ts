import { beforeEach, describe, expect, it } from '@jest/globals';
import { foreignEngine, type ForeignPdp } from '../../../apps/pdp/engine/foreign.ts';
import type { PolicyEngine, VerifiedApproval } from '../../../apps/pdp/engine/policy-engine.ts';
import type { EvaluationRequest } from '../../../workflows/domain/authzen/evaluation.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import { aTransfer, startTestPdp } from '../../support/pdp.ts';
import { anApprovalFor, presenting } from '../../support/signed-approvals.ts';

const HINTS = [
  { reason: 'needs_a_person', template: 'treasury_approval', title: 'A transfer' },
  { output: { ask: 'cfo' }, template: 'cfo_approval' },
  { output: 'board', template: 'board_approval' },
];

let asked: { subject: Record<string, unknown>; context: Record<string, unknown> }[];
let answer: unknown;
beforeEach(() => {
  asked = [];
});

const engine = (of: Partial<ForeignPdp> = {}) =>
  foreignEngine({
    url: 'http://other-pdp.test',
    ask: async (request) => {
      asked.push(request as (typeof asked)[0]);
      if (answer instanceof Error) throw answer;
      return answer;
    },
    dialect: 'authzen',
    requestable: HINTS,
    isListed: () => false,
    ...of,
  });
const answerOf = (by: PolicyEngine, request: EvaluationRequest, approval?: VerifiedApproval) =>
  by.use(async (policies) => await policies.answer(request, approval));
const denial = (context?: object) => ({ decision: false, ...(context && { context }) });
const outputs = (...vals: unknown[]) =>
  denial({ 'cerbos.response': { results: [{ outputs: vals.map((val) => ({ src: 'x', val })) }, {}] } });
const APPROVAL = {
  kind: 'verified',
  id: 'apr_1',
  approvedUntil: '2126-01-01T00:00:00Z',
  facts: { verified: true, template: 'treasury_approval' },
} as const;

describe('the request to another decision point', () => {
  it('has only the members of AuthZEN, and always a context [PRJ-30]', async () => {
    answer = denial();
    const request = { ...aTransfer(), unknown: 1, context: {} } as EvaluationRequest;
    await answerOf(engine(), {
      ...request,
      subject: { ...request.subject, unknown: 2 } as EvaluationRequest['subject'],
    });
    expect(asked).toEqual([{ ...aTransfer(), context: {} }]);
  });

  it.each(['authzen', 'cerbos'] as const)('shows %s only a verified approval [PRJ-27]', async (dialect) => {
    answer = denial();
    const { subject, ...rest } = aTransfer();
    const forged = { approval: { verified: true, template: 'treasury_approval' }, dept: 'x' };
    const request = { ...rest, subject: { ...subject, properties: forged } } as EvaluationRequest;
    await answerOf(engine({ dialect }), request);
    expect(asked[0]?.subject).toEqual({ ...subject, properties: { dept: 'x' } });
    expect(asked[0]?.context['approval']).toBeUndefined();
    await answerOf(engine({ dialect }), request, APPROVAL);
    const facts = {
      approved_until: '2126-01-01T00:00:00Z',
      id: 'apr_1',
      template: 'treasury_approval',
      verified: true,
    };
    const shown = dialect === 'cerbos' ? asked[1]?.subject['properties'] : asked[1]?.context;
    expect(shown).toMatchObject({ approval: facts });
  });
});

describe('the answer of another decision point', () => {
  it.each([
    ['a permit', { decision: true }, { kind: 'permit' }],
    ['a denial', denial(), { kind: 'deny', reason: 'not_permitted' }],
    ['a denial with a code', denial({ reason: 'blocked' }), { kind: 'deny', reason: 'blocked' }],
    [
      'a denial with a text as reason',
      denial({ reason: 'by rule 7 of Bob' }),
      { kind: 'deny', reason: 'not_permitted' },
    ],
    ['a denial that offers a request of its own', denial({ access_request: {} }), { kind: 'deny' }],
    [
      'a configured reason',
      denial({ reason: 'needs_a_person' }),
      { kind: 'requestable', template: 'treasury_approval' },
    ],
    ['a configured output', outputs(null, { ask: 'cfo', more: 1 }), { kind: 'requestable', template: 'cfo_approval' }],
    ['a configured text as output', outputs('board'), { kind: 'requestable', template: 'board_approval' }],
    ['other outputs', outputs({ ask: 'ceo' }, 'boards', ['board'], 7), { kind: 'deny' }],
    ['a permit with obligations', { decision: true, context: { obligations: [{ id: 'o' }] } }, { kind: 'failed' }],
  ])('reads %s', async (_case, said, expected) => {
    answer = said;
    expect(await answerOf(engine(), aTransfer())).toMatchObject(expected);
  });

  const NOTIFY = { id: 'n', type: 'notification', properties: { to: 'a', body: '' } };
  const under = (obligations: unknown, decision = true, reason?: string) => ({
    decision,
    context: { obligations, ...(reason !== undefined && { reason }) },
  });
  it('passes on the obligations of permits and denials [OBL-01, OBL-08]', async () => {
    answer = under([NOTIFY]);
    expect(await answerOf(engine(), aTransfer())).toEqual({ kind: 'permit', policies: [], obligations: [NOTIFY] });
    answer = under([NOTIFY], false);
    expect(await answerOf(engine(), aTransfer())).toMatchObject({ kind: 'deny', obligations: [NOTIFY] });
    answer = under([NOTIFY], false, 'needs_a_person');
    expect(await answerOf(engine(), aTransfer())).toMatchObject({ kind: 'requestable', obligations: [NOTIFY] });
    answer = under([]);
    expect(await answerOf(engine(), aTransfer())).toEqual({ kind: 'permit', policies: [] });
  });

  it.each([
    ['of a type that is not registered', [{ ...NOTIFY, id: 'x', type: 'dance' }, NOTIFY], [NOTIFY]],
    ['that is malformed', [{ id: 'x' }, NOTIFY], [NOTIFY]],
    ['that is null', [null], undefined],
    ['with the id of another one', [NOTIFY, { ...NOTIFY }], undefined],
    ['outside a list', NOTIFY, undefined],
    ['in a text', 'notification', undefined],
  ])('denies with an obligation %s, and passes on the others [OBL-03, OBL-04, OBL-10]', async (_what, said, kept) => {
    for (const decision of [true, false]) {
      answer = under(said, decision);
      const found = await answerOf(engine(), aTransfer());
      expect(found).toMatchObject({ kind: 'failed', reason: 'obligations_not_supported' });
      expect(found.obligations).toEqual(kept);
    }
  });

  it('denies for good although the approval was given, or offers a request for another template [ARAP-REV-08]', async () => {
    answer = denial({ reason: 'needs_a_person' });
    expect(await answerOf(engine(), aTransfer(), APPROVAL)).toMatchObject({ kind: 'deny' });
    answer = outputs({ ask: 'cfo' });
    expect(await answerOf(engine(), aTransfer(), APPROVAL)).toMatchObject({ template: 'cfo_approval' });
  });

  it.each([[{ decision: 'true' }], [{}], [null], [[{ decision: true }]], ['true']])(
    'throws for the body %j',
    async (odd) => {
      answer = odd;
      await expect(async () => answerOf(engine(), aTransfer())).rejects.toMatchObject({ code: 'ERR_PDP_UNAVAILABLE' });
    },
  );
});

describe('our policy decision point in front of another one', () => {
  it('makes requestable denials and verifies approvals, but only the other PDP permits [ARAP-GEN-02, ARAP-REV-03, ARAP-REV-04]', async () => {
    const pdp = await startTestPdp({ engine: engine() });
    answer = denial({ reason: 'needs_a_person' });
    const { body } = await pdp.post(aTransfer());
    expect(body.context).toMatchObject({ access_request: { template: 'treasury_approval' } });
    expect(pdp.recorded).toHaveLength(1);

    answer = { decision: true };
    const approval = await anApprovalFor(aTransfer(), { key: pdp.arsKey });
    expect((await pdp.post(presenting(aTransfer(), approval))).body).toMatchObject({
      decision: true,
      context: { approval: { id: approval.id } },
    });
    expect(asked.at(-1)?.context['approval']).toMatchObject({ id: approval.id });

    answer = denial();
    expect((await pdp.post(presenting(aTransfer(), approval))).body.decision).toBe(false);
    // An approval for another call is not passed on, nor one whose request gained a member.
    for (const other of [aTransfer({ amount: 1 }), aTransfer({ rides: 'in' })]) {
      await pdp.post(presenting(other, approval));
      expect(asked.at(-1)?.context['approval']).toBeUndefined();
    }
    await pdp.stop();
  });

  it('returns no decision while the other PDP is down [AZ-EV-07]', async () => {
    const pdp = await startTestPdp({ engine: engine() });
    answer = new CountersignError('ERR_PDP_UNAVAILABLE', 'away');
    expect(await pdp.post(aTransfer())).toMatchObject({ status: 500, text: 'internal error' });
    await pdp.stop();
  });
});
