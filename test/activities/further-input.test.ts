import { describe, expect, it } from '@jest/globals';
import { CountersignError } from '../../workflows/domain/errors.ts';
import { ownerKey } from '../../workflows/domain/principal.ts';
import type { RequesterInput } from '../../workflows/domain/gated-call/call-binding.ts';
import { requestForm, type RequestForm } from '../../workflows/domain/submission-input/request-form.ts';
import { aForm, askedCalls } from '../support/asked-calls.ts';
import { anOpening, CALLER } from '../support/gated-calls.ts';
import { ownCalls } from '../support/own-calls.ts';
import { stepsIn, type World } from '../support/steps.ts';

const SCHEMA = 'https://ars.test/second.json';
const wants = (requestSchemaUrl?: string, requestCatalogsUrl?: string) =>
  ({
    kind: 'requestable',
    evaluationId: `eval_${crypto.randomUUID()}`,
    offer: {
      endpoint: 'https://ars.test/requests',
      expiresAt: '2999-01-01T00:00:00Z',
      bindingToken: crypto.randomUUID(),
      ...(requestSchemaUrl !== undefined && { requestSchemaUrl }),
      ...(requestCatalogsUrl !== undefined && { requestCatalogsUrl }),
    },
  }) as const satisfies World['decision'];

/** Two objects with a required value, and one whose value is optional. */
const PARTED = requestForm({
  type: 'object',
  properties: {
    context: {
      type: 'object',
      properties: {
        change: { type: 'object', required: ['ticket'], properties: { ticket: { type: 'string', minLength: 3 } } },
        person: {
          type: 'object',
          required: ['department'],
          properties: { department: { type: 'string' }, phone: { type: 'string' } },
        },
        remarks: { type: 'object', properties: { note: { type: 'string' } } },
      },
    },
  },
}) as RequestForm;

describe('a further request that needs input', () => {
  const own = ownCalls();
  const calls = askedCalls(own);

  const stepsWith = (form: RequestForm | CountersignError | undefined, world: World = {}) =>
    stepsIn(
      {
        decision: wants(SCHEMA),
        requestForms: {
          at: async () => {
            if (form instanceof CountersignError) throw form;
            return form;
          },
        },
        handle: { accessRequestId: `arq_${crypto.randomUUID()}`, statusEndpoint: 'http://127.0.0.1:1/second' },
        ...world,
      },
      own.fixture.lifecycle,
    );
  const questionsOf = async ({ taskId }: { taskId: string }) =>
    (await own.fixture.calls.findTask(taskId, ownerKey(CALLER)))?.questions ?? [];
  const answerAll = async (call: { gatedCallId: string; taskId: string }, content: Record<string, string>) =>
    own.fixture.calls.answer(
      call.gatedCallId,
      (await questionsOf(call)).map(({ key }) => ({ key, content })),
    );
  const bodyOf = async ({ gatedCallId }: { gatedCallId: string }) =>
    JSON.parse((await own.fixture.lifecycle.readSubmission(gatedCallId)).body) as Record<string, unknown>;

  it('asks the task owner, signals no workflow meanwhile, and waits until the call is over', async () => {
    const call = await calls.granted();
    const step = stepsWith(aForm('ticket'));
    const { remainingMs } = await own.fixture.lifecycle.progress(call.gatedCallId);
    for (let look = 0; look < 3; look += 1) {
      const found = await step.toTheClaim(call);
      expect(found).toEqual({ kind: 'input_required', waitMs: expect.any(Number) });
      expect(found.kind === 'input_required' && found.waitMs).toBeGreaterThan(remainingMs - 60_000);
    }
    expect(step.submitted).toEqual([]);
    expect(await questionsOf(call)).toEqual([{ key: expect.stringMatching(/^input-1-/), form: aForm('ticket') }]);
    expect(await own.fixture.lifecycle.load(call.gatedCallId)).toMatchObject({
      state: 'input_required',
      generation: 1,
    });
  });

  it('is submitted with the answers, for a denial made after them, under its own key, in the next generation', async () => {
    const call = await calls.granted();
    const first = await own.fixture.lifecycle.readSubmission(call.gatedCallId);
    await stepsWith(aForm('ticket')).toTheClaim(call);
    expect(await answerAll(call, { ticket: 'CHG-1' })).toBe('granted');
    const fresh = wants(SCHEMA);
    const step = stepsWith(aForm('ticket'), { decision: fresh });
    expect(await step.toTheClaim(call)).toEqual({ kind: 'next_generation' });
    await step.toTheClaim(call);
    expect(await own.fixture.lifecycle.load(call.gatedCallId)).toMatchObject({ state: 'pending', generation: 2 });
    const { evaluation } = anOpening().binding;
    expect(await bodyOf(call)).toMatchObject({
      action: evaluation.action,
      context: { requester_input: { ticket: 'CHG-1' }, agent: CALLER.clientId },
      denial: { evaluation_id: fresh.evaluationId, binding_token: fresh.offer.bindingToken },
      client: { source: { generation: 2 } },
    });
    expect(step.submitted).toHaveLength(1);
    expect(step.submitted[0]?.idempotencyKey).not.toBe(first.idempotencyKey);
  });

  it('denies the call when its form takes values from catalogs and the caller typed free text [ARAP-FRM-05] [ARAP-CAT-14]', async () => {
    const catalogs = 'https://ars.test/catalogs';
    const granted = (input?: RequesterInput) => {
      const opening = anOpening({ takesInput: true });
      return own.fixture.granted({ ...opening, binding: { ...opening.binding, ...(input && { input }) } });
    };
    const typed = { schemaUrl: SCHEMA, additions: { context: { requester_input: { ticket: 'CHG-1' } } } };
    for (const input of [undefined, typed]) {
      const call = await granted(input);
      const step = stepsWith(aForm('ticket'), { decision: wants(SCHEMA, catalogs) });
      await step.toTheClaim(call);
      expect(await own.fixture.lifecycle.load(call.gatedCallId)).toMatchObject({ state: 'denied', generation: 1 });
      expect(step.submitted).toEqual([]);
    }
    const chosen = await granted({ ...typed, isFromCatalogs: true });
    const step = stepsWith(aForm('ticket'), { decision: wants(SCHEMA, catalogs) });
    await step.toTheClaim(chosen);
    expect(await bodyOf(chosen)).toMatchObject({ context: typed.additions.context });
  });

  it('asks one question for each part of its form with a required value, and puts the answers where they belong', async () => {
    const call = await calls.granted();
    await stepsWith(PARTED).toTheClaim(call);
    const questions = await questionsOf(call);
    expect(questions.map(({ form }) => form.fields.map(({ name }) => name))).toEqual([
      ['ticket'],
      ['department', 'phone'],
    ]);
    const [one, other] = questions.map(({ key }) => key);
    await own.fixture.calls.answer(call.gatedCallId, [{ key: String(other), content: { department: 'Treasury' } }]);
    expect((await questionsOf(call)).map(({ key }) => key)).toEqual([one]);
    await own.fixture.calls.answer(call.gatedCallId, [{ key: String(one), content: { ticket: 'CHG-1' } }]);
    await stepsWith(PARTED).toTheClaim(call);
    expect(await bodyOf(call)).toMatchObject({
      context: { change: { ticket: 'CHG-1' }, person: { department: 'Treasury' }, remarks: {} },
    });
  });

  it.each([
    ['what no form can ask for', true, undefined],
    ['input from a client that cannot give any', false, aForm('ticket')],
  ])('ends the call where it needs %s', async (_case, takesInput, form) => {
    const call = await calls.granted({ takesInput });
    const step = stepsWith(form);
    expect(await step.toTheClaim(call)).toEqual({ kind: 'ended' });
    expect([await calls.endOf(call), step.submitted]).toEqual([['denied', 'input_missing'], []]);
  });

  it('does not wait for optional values', async () => {
    const optional = requestForm({
      type: 'object',
      properties: { context: { type: 'object', properties: { note: { type: 'string' } } } },
    }) as RequestForm;
    const call = await calls.granted({ takesInput: false });
    expect(await stepsWith(optional).toTheClaim(call)).toEqual({ kind: 'next_generation' });
    expect(await calls.endOf(call)).toEqual(['pending', null]);
  });

  it('waits while its form cannot be fetched', async () => {
    const call = await calls.granted();
    const away = new CountersignError('ERR_ACCESS_REQUEST_SERVICE_UNAVAILABLE', 'away');
    expect(await stepsWith(away).toTheClaim(call)).toMatchObject({ kind: 'retry' });
    expect(await calls.endOf(call)).toEqual(['granted', null]);
  });

  it('asks anew under other keys when the form has changed, but only a limited number of times [TASK-044]', async () => {
    const call = await calls.granted();
    const keys = new Set<string>();
    let round = 0;
    const change = () => stepsWith(aForm('ticket', `more${(round += 1)}`)).toTheClaim(call);
    while ((await change()).kind === 'input_required') {
      for (const { key } of await questionsOf(call)) keys.add(key);
      await answerAll(call, { ticket: 'CHG-1', [`more${round}`]: 'more' });
    }
    expect([keys.size, await calls.endOf(call)]).toEqual([3, ['denied', 'input_missing']]);
  });

  it('is not submitted when the policy allows or denies the call after the answers', async () => {
    for (const [decision, state] of [
      [{ kind: 'allow' }, 'claimed'],
      [{ kind: 'deny' }, 'denied'],
    ] as const) {
      const call = await calls.granted();
      await stepsWith(aForm('ticket')).toTheClaim(call);
      await answerAll(call, { ticket: 'CHG-1' });
      const step = stepsWith(aForm('ticket'), { decision });
      await step.toTheClaim(call);
      expect([(await calls.endOf(call))[0], step.submitted]).toEqual([state, []]);
    }
  });

  it('asks each question once, however many steps there are', async () => {
    const call = await calls.granted();
    await Promise.all([1, 2, 3].map(() => stepsWith(aForm('ticket')).toTheClaim(call)));
    expect(await questionsOf(call)).toHaveLength(1);
  });
});
