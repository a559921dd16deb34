import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { requestRefOf } from '../../../activities/stores/opening.ts';
import { TEST_SEALS } from '../../support/gated-calls.ts';
import { AUTHORIZATION, AWAITING, metaOf, SERVER_INFO, textOf } from '../../support/gateway-wire.ts';
import { TASKS, taskOf, type CallOptions } from '../../support/input-calls.ts';
import { subscribe, type Subscriber } from '../../support/subscriber.ts';
import { waitFor } from '../../support/wait-for.ts';
import { FORMS, GIVEN, startGatewayThatAsks, TICKET } from '../../support/waiting-tasks.ts';

let on: Awaited<ReturnType<typeof startGatewayThatAsks>>;
beforeAll(async () => {
  on = await startGatewayThatAsks();
});
afterAll(() => on.real.stop());
beforeEach(() => on.real.reset());

describe('a task whose further request needs input', () => {
  it('is shown with every open question, each a flat form under its own key, and otherwise unchanged [TASK-031, MRTR-023, MRTR-040, MRTR-041, MRTR-042, APPR-216]', async () => {
    const { taskId, ticket, night } = await on.waiting();
    const lead = 'This call needs one more approval, and the request for it needs some input. The tool has not run.';
    const form = (properties: object) => ({
      method: 'elicitation/create',
      params: {
        mode: 'form',
        message: `${lead}\nSecond signature`,
        requestedSchema: { type: 'object', properties, required: Object.keys(properties) },
      },
    });
    expect(await on.get(taskId)).toEqual({
      resultType: 'complete',
      taskId,
      status: 'input_required',
      statusMessage: 'More information is needed before a decision. The tool has not run.',
      createdAt: expect.any(String),
      lastUpdatedAt: expect.any(String),
      ttlMs: expect.any(Number),
      pollIntervalMs: expect.any(Number),
      inputRequests: { [ticket]: form({ ticket: TICKET }), [night]: form({ night: { type: 'boolean' } }) },
      _meta: { [AUTHORIZATION]: AWAITING, [SERVER_INFO]: expect.anything() },
    });
    expect(new Set([ticket, night, '']).size).toBe(3);
  });

  it('is shown without questions to a client that did not declare that it can be asked [MRTR-005]', async () => {
    const { taskId } = await on.waiting();
    for (const capabilities of [TASKS, { ...TASKS, elicitation: { url: {} } }]) {
      const { status, body } = await on.ask('tasks/get', { taskId }, { capabilities });
      expect([status, body.error]).toMatchObject([
        400,
        { code: -32_021, data: { requiredCapabilities: { elicitation: { form: {} } } } },
      ]);
    }
    expect(await on.get(taskId)).toMatchObject({ status: 'input_required' });
  });

  it('is returned to an identical call, without its questions [TASK-016]', async () => {
    const { taskId, args } = await on.waiting();
    const { result } = (await on.asking.call(args)).body;
    expect(result).toMatchObject({ resultType: 'task', taskId, status: 'input_required' });
    expect(result).not.toHaveProperty('inputRequests');
  });

  it.each<[string, CallOptions]>([
    ['had no forms', { capabilities: TASKS }],
    ['had no tasks', { name: 'request_access', capabilities: { elicitation: {} } }],
  ])(
    'is denied instead where the client that made the call %s',
    async (_case, { name = 'files__pid', capabilities }) => {
      const args = on.asking.newArguments();
      const made = name === 'files__pid' ? args : { tool: 'files__pid', arguments: args };
      await on.asking.call(made, { name, capabilities });
      const taskId = String(taskOf(await on.asking.call(args)));
      await on.step(taskId);
      expect(await on.rowOf(taskId)).toMatchObject({ state: 'denied', reason: 'input_missing' });
      expect(textOf((await on.get(taskId))?.['result'] as never)).toMatch(/did not run.*further approval needs input/);
    },
  );

  it('is described in words to a client without tasks, with the next step', async () => {
    const { taskId } = await on.waiting();
    const reference = requestRefOf((await on.rowOf(taskId)).id, TEST_SEALS);
    const params = { name: 'get_request_status', arguments: { reference } };
    const { result } = (await on.ask('tools/call', params, { capabilities: {} })).body;
    expect(textOf(result)).toMatch(
      /needs more information before a decision.*cannot give the information here.*Next step:.*tasks\/update/,
    );
    expect(metaOf(result)['dev.countersign/next-step']).toMatchObject({ kind: 'answer_task', reference });
    expect(JSON.stringify(result)).not.toMatch(/ticket|tsk_/);
  });
});

describe('a subscriber', () => {
  let subscribers: Subscriber[] = [];
  afterEach(() => {
    for (const subscriber of subscribers.splice(0)) subscriber.leave();
  });
  const listen = async (taskId: string, capabilities: object) => {
    const subscriber = await subscribe(on.real, { taskIds: [taskId] }, { capabilities, token: await on.tokenOf() });
    subscribers = [...subscribers, subscriber];
    return subscriber;
  };

  it('hears of the questions, of the remaining ones, and that the task works again', async () => {
    const taskId = String(taskOf(await on.asking.call(on.asking.newArguments())));
    const [all, some] = [await listen(taskId, FORMS), await listen(taskId, TASKS)];
    await on.step(taskId);
    const keys = Object.keys((await all.shown('input_required'))['inputRequests'] as object);
    expect(keys).toHaveLength(2);
    const asked = (one: Subscriber) =>
      one
        .tasks()
        .flatMap(({ status, inputRequests }) =>
          status === 'input_required' ? [Object.keys(inputRequests as object).length] : [],
        );
    await on.update(taskId, { [String(keys[0])]: GIVEN.ticket });
    await waitFor(() => asked(all).length === 2);
    await on.update(taskId, { [String(keys[1])]: GIVEN.night });
    await Promise.all([all.shown('working'), some.shown('working')]);
    expect(asked(all)).toEqual([2, 1]);
    expect(asked(some)).toEqual([]);
  });
});
