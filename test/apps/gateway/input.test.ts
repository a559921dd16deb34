import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { SCHEMA_PATH } from '../../support/authority-stub.ts';
import { AUTHORIZATION, metaOf, isForLater, send, SERVER_INFO, textOf, type Sent } from '../../support/gateway-wire.ts';
import {
  accepted,
  answering,
  ASKED,
  FIELDS,
  questionIn,
  schemaOf,
  startAskingGateway,
  taskOf,
  TASKS,
  WHY,
} from '../../support/input-calls.ts';
import { repeatWhile } from '../../support/wait-for.ts';

let asking: Awaited<ReturnType<typeof startAskingGateway>>;
let real: typeof asking.real;
beforeAll(async () => {
  asking = await startAskingGateway();
  real = asking.real;
});
afterAll(() => real.stop());
beforeEach(() => asking.reset());

describe('a call whose request needs input', () => {
  it('is answered with one form and without a task, and no request is opened or submitted [MRTR-001, MRTR-003, MRTR-004, MRTR-040, MRTR-041, MRTR-042, MRTR-013, MRTR-022, MRTR-024, MRTR-048, APPR-216, ASSOC-001, ARAP-FRM-03, ARAP-FRM-04, ARAP-FRM-05]', async () => {
    const before = await asking.traces();
    const answer = await asking.call(asking.newArguments());
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/json']);
    const { key, requestState } = questionIn(answer);
    expect(answer.body.result).toEqual({
      resultType: 'input_required',
      inputRequests: {
        [key]: {
          method: 'elicitation/create',
          params: {
            mode: 'form',
            message: expect.stringMatching(/^This call needs an approval,.*has not run\.$/),
            requestedSchema: { type: 'object', properties: FIELDS, required: ['justification'] },
          },
        },
      },
      requestState,
      _meta: {
        [AUTHORIZATION]: { reason: 'insufficient_authorization', remediation: 'available' },
        [SERVER_INFO]: expect.anything(),
      },
    });
    expect(await asking.traces()).toEqual(before);
  });

  it('says that a remedy is available while one is, and following it works [DENIAL-006]', async () => {
    const remediationOf = ({ body }: Sent) =>
      (body.result?.['_meta'] as Record<string, { remediation?: string }>)[AUTHORIZATION]?.remediation;
    const args = asking.newArguments();
    const asked = await asking.call(args);
    const opened = await asking.call(args, answering(questionIn(asked), accepted()));
    const taskId = taskOf(opened);
    const read = () => real.send('tasks/get', { taskId });
    expect([asked, opened, await read()].map(remediationOf)).toEqual(['available', 'available', 'available']);
    await real.send('tasks/cancel', { taskId });
    expect(remediationOf(await read())).toBeUndefined();
  });

  it('is the only request that is answered with a question [MRTR-002]', async () => {
    const question = await asking.call(asking.newArguments());
    const task = await asking.call(asking.newArguments());
    const taskId = taskOf(await asking.call({ n: 'task' }, answering(questionIn(task), accepted())));
    expect(question.body.result?.['resultType']).toBe('input_required');
    const options = { capabilities: { ...TASKS, elicitation: { form: {} } } };
    const token = await real.authority.token({ aud: real.mcpUrl });
    for (const [method, params] of [
      ['server/discover', {}],
      ['tools/list', {}],
      ['prompts/list', {}],
      ['resources/list', {}],
      ['resources/templates/list', {}],
      ['completion/complete', { ref: { type: 'ref/prompt', name: 'p' }, argument: { name: 'a', value: '' } }],
      ['signature', {}],
      ['tasks/get', { taskId }],
      ['tasks/update', { taskId, inputResponses: {} }],
      ['tasks/cancel', { taskId }],
    ] as const) {
      const { body, text } = await send(real, method, params, { ...options, token });
      expect([method, body.result?.['resultType'] ?? 'complete']).toEqual([method, 'complete']);
      expect(text).not.toMatch(/elicitation|"input_required"/);
    }
  });

  it('becomes a task with the answer, which goes to approvers and to neither policy nor the tool [MRTR-025]', async () => {
    const args = asking.newArguments();
    const question = questionIn(await asking.call(args));
    const { body, text } = await asking.call(args, { ...answering(question, accepted()), id: 'another' });
    expect(body.result).toMatchObject({ resultType: 'task', status: 'working', taskId: expect.any(String) });
    expect(text).not.toMatch(/requestState|inputRequests|Quarterly/);
    const submission = JSON.parse(real.authority.submissions()[0]?.body ?? '') as { context: Record<string, unknown> };
    const evaluations = real.authority.seen.filter(({ path }) => path === '/access/v1/evaluation');
    const evaluated = (JSON.parse(evaluations[1]?.body ?? '') as { context: object }).context;
    expect(submission.context).toEqual({ ...evaluated, requester_input: { justification: WHY } });
    expect(evaluations.map((one) => one.body).join()).not.toContain('Quarterly');
    const stored = await real.database.pool.query(
      'SELECT b, s, r FROM gateway.call_binding b, gateway.submission s, gateway.outbox r',
    );
    expect(JSON.stringify(stored.rows)).not.toContain('Quarterly');
  });

  it('shows the question of the service, cleaned and without addresses', async () => {
    asking.needs({ ...ASKED, description: 'Why now,\u202e and who agreed?' });
    const answer = await asking.call(asking.newArguments());
    expect(questionIn(answer).request?.params['message']).toMatch(/has not run\.\nWhy now, and who agreed\?$/);
    expect(answer.text).not.toMatch(/canary|http/);
    const fetched = real.authority.seen.filter(({ path }) => path.startsWith(SCHEMA_PATH));
    expect(fetched.map(({ headers }) => headers.authorization)).toEqual([undefined]);
  });

  it('gets one question: an identical call joins the open one', async () => {
    const args = asking.newArguments();
    const first = await asking.call(args, answering(questionIn(await asking.call(args)), accepted()));
    expect(taskOf(await asking.call(args))).toBe(taskOf(first));
    expect(real.authority.submissions()).toHaveLength(1);
  });

  it('is evaluated again when it returns with the answer, and may then be allowed, or denied for good', async () => {
    const args = asking.newArguments();
    const question = questionIn(await asking.call(args));
    const before = await asking.traces();
    real.authority.decide = () => ({ decision: false });
    expect((await asking.call(args, answering(question, accepted()))).body.result).toMatchObject({ isError: true });
    real.authority.decide = () => ({ decision: true });
    const { result } = (await asking.call(args, answering(question, accepted()))).body;
    expect(textOf(result)).toMatch(/^\d+$/);
    expect(await asking.traces()).toEqual(before);
  });
});

describe('an answer to the form', () => {
  it('counts once: a repetition gets the same task, at once, later, or after its end [MRTR-010, MRTR-023]', async () => {
    const args = asking.newArguments();
    const question = questionIn(await asking.call(args));
    const [before = 0] = await asking.traces();
    // A caller that joins a call while the machine stands still is told to repeat it.
    const answer = () => repeatWhile(isForLater, () => asking.call(args, answering(question, accepted())));
    const answers = await Promise.all(Array.from({ length: 8 }, answer));
    const tasks = new Set(answers.map(taskOf));
    expect([tasks.size, typeof [...tasks][0]]).toEqual([1, 'string']);
    expect(await asking.traces()).toEqual([before + 1, 1]);
    const taskId = [...tasks][0];
    await real.send('tasks/cancel', { taskId });
    const again = await asking.call(args, answering(question, accepted()));
    expect(again.body.result).toMatchObject({ resultType: 'task', taskId, status: 'cancelled' });
    expect(await asking.traces()).toEqual([before + 1, 1]);
  });

  it.each<[string, unknown]>([
    ['is too short', accepted({ justification: 'short' })],
    ['leaves out a required member', accepted({ urgent: true })],
    ['has a member of another type', accepted({ justification: 5 })],
    ['is empty', { action: 'accept' }],
  ])('that %s gets the question again, under another key', async (_case, response) => {
    const args = asking.newArguments();
    const before = await asking.traces();
    const first = questionIn(await asking.call(args));
    const second = questionIn(await asking.call(args, answering(first, response)));
    expect(second.key).not.toBe(first.key);
    expect(second.request).toEqual(first.request);
    expect(await asking.traces()).toEqual(before);
    expect(taskOf(await asking.call(args, answering(second, accepted())))).toMatch(/^tsk_/);
  });

  it('that is missing gets the question again, and an answer to an unknown question is ignored', async () => {
    const args = asking.newArguments();
    const first = questionIn(await asking.call(args));
    const more = { inputResponses: { other: accepted() }, requestState: first.requestState };
    expect(questionIn(await asking.call(args, { more })).key).not.toBe(first.key);
    expect((await asking.call(args, { more: { inputResponses: { other: accepted() } } })).body.result).toMatchObject({
      resultType: 'input_required',
    });
  });

  it('gets the question five times, and then no more', async () => {
    const args = asking.newArguments();
    const keys = new Set<string>();
    let answer = await asking.call(args);
    while (answer.body.result?.['resultType'] === 'input_required') {
      const question = questionIn(answer);
      keys.add(question.key);
      answer = await asking.call(args, answering(question, accepted({})));
    }
    expect([keys.size, answer.body.result?.['isError']]).toEqual([5, true]);
  });

  it('to an outdated form is ignored, and the current form is asked', async () => {
    const args = asking.newArguments();
    const first = questionIn(await asking.call(args));
    asking.needs(schemaOf({ justification: { type: 'string' }, ticket: { type: 'string' } }));
    const second = questionIn(
      await asking.call(args, answering(first, accepted({ justification: WHY, ticket: 'CHG-1' }))),
    );
    expect(second.request?.params['requestedSchema']).toMatchObject({ required: ['justification', 'ticket'] });
  });

  it.each(['decline', 'cancel'])(
    'of "%s" opens and submits nothing, no tool runs, and the repeated call asks again [MRTR-043]',
    async (action) => {
      const args = asking.newArguments();
      const before = await asking.traces();
      const { result } = (await asking.call(args, answering(questionIn(await asking.call(args)), { action }))).body;
      expect(result).toMatchObject({ resultType: 'complete', isError: true });
      expect(textOf(result)).toMatch(/did not run.*Nothing was requested.*shows the form again/s);
      expect(metaOf(result)[AUTHORIZATION]).toEqual({
        reason: 'insufficient_authorization',
        remediation: 'undisclosed',
      });
      expect(await asking.traces()).toEqual(before);
      expect(questionIn(await asking.call(args)).request?.method).toBe('elicitation/create');
    },
  );

  it.each<[string, unknown]>([
    ['a text', 'yes'],
    ['a list', []],
    ['another request', { method: 'tools/call', action: 'accept' }],
    ['an unknown action', { action: 'agree', content: { justification: WHY } }],
    ['content that is not an object', { action: 'accept', content: 'because' }],
  ])('of another shape is an error: %s', async (_case, response) => {
    const args = asking.newArguments();
    const before = await asking.traces();
    const { body } = await asking.call(args, answering(questionIn(await asking.call(args)), response));
    expect(body.error).toMatchObject({ code: -32_602 });
    expect(await asking.traces()).toEqual(before);
  });
});

describe('the messages to a client', () => {
  it('never name the services behind the gateway', () => {
    expect(real.received.length).toBeGreaterThan(40);
    expect(real.received.join('\n')).not.toMatch(/canary|request_schema_url|binding_token|access\/v1|evil/);
  });
});
