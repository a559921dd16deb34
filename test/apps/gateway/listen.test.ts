import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import { GatewayUnderTest } from '../../support/gateway.ts';
import { aView, TASK_ID } from '../../support/gateway-world.ts';
import { AUTHORIZATION, AWAITING, send, type SendOptions } from '../../support/gateway-wire.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { subscribe, type Subscriber } from '../../support/subscriber.ts';
import { waitFor } from '../../support/wait-for.ts';

const LISTEN = 'subscriptions/listen';
const SUBSCRIPTION_ID = 'io.modelcontextprotocol/subscriptionId';
const MALLORY = { token: 'token-of-mallory' };

const gateway = new GatewayUnderTest({ maxStreamsPerCaller: 3, maxStreams: 4 });
const { world } = gateway;
beforeAll(() => gateway.start());
afterAll(() => gateway.stop());
beforeEach(() => gateway.reset());
const subscribers: Subscriber[] = [];
const listen = async (notifications: Record<string, unknown>, options?: SendOptions) => {
  const subscriber = await subscribe(gateway, notifications, options);
  subscribers.push(subscriber);
  return subscriber;
};
const listenToTask = (options?: SendOptions) => listen({ taskIds: [TASK_ID] }, options);
/** All subscriptions have ended, so the next test finds every place free. */
afterEach(async () => {
  for (const subscriber of subscribers.splice(0)) subscriber.leave();
  await waitFor(() => world.taskListeners.size === 0);
});

const acknowledged = ({ messages }: Subscriber) => messages[0]?.params?.['notifications'];
const change = (view: Parameters<typeof aView>[0]) => {
  world.view = aView(view);
  world.tell(TASK_ID);
};
/** The time limit ends a stream that is opened by mistake and would never end. */
const refused = async (notifications: Record<string, unknown>, options?: SendOptions) => {
  const patient = { ...options, signal: AbortSignal.timeout(60_000) };
  const { body, ...answer } = await send(gateway, LISTEN, { notifications }, patient);
  return { ...answer, error: body.error };
};

describe('subscriptions/listen', () => {
  it("acknowledges the caller's own tasks, and does not mention others [TASK-071, TASK-072, LISTEN-002, LISTEN-003]", async () => {
    const own = await listen({ taskIds: [TASK_ID, 'tsk_unknown', TASK_ID] });
    expect(own.messages[0]).toEqual({
      jsonrpc: '2.0',
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications: { taskIds: [TASK_ID] }, _meta: { [SUBSCRIPTION_ID]: 'r-1' } },
    });
    const foreign = await send(gateway, LISTEN, { notifications: { taskIds: [TASK_ID] } }, MALLORY);
    const unknown = await send(gateway, LISTEN, { notifications: { taskIds: [TASK_ID.replace('0', '1')] } });
    expect(foreign.text).toBe(unknown.text);
    expect(foreign.text).toContain('"notifications":{"taskIds":[]}');
  });

  it('reports a task like tasks/get, at once and at each change, and ends after the last [TASK-074, LISTEN-004]', async () => {
    const subscriber = await listenToTask();
    const { _meta: meta, ...first } = await subscriber.shown('working');
    const { result } = (await send(gateway, 'tasks/get', { taskId: TASK_ID })).body;
    const { resultType, _meta: _gotMeta, ...got } = result ?? {};
    expect(resultType).toBe('complete');
    expect(first).toEqual(got);
    expect(meta).toEqual({ [AUTHORIZATION]: AWAITING, [SUBSCRIPTION_ID]: 'r-1' });

    change({ state: 'claimed' });
    await waitFor(() => subscriber.tasks().length === 2);
    change({ state: 'executed', result: JSON.stringify({ content: [{ type: 'text', text: 'booked' }] }) });
    const last = await subscriber.shown('completed');
    expect(last['result']).toMatchObject({ resultType: 'complete', content: [{ text: 'booked' }, {}] });
    await waitFor(() => subscriber.isOver());
    expect(subscriber.messages.at(-1)).toMatchObject({
      id: 'r-1',
      result: { resultType: 'complete', _meta: { [SUBSCRIPTION_ID]: 'r-1' } },
    });
    expect(subscriber.tasks()).toHaveLength(3);
  });

  it('reports list changes and tasks in one stream, and continues after the tasks have ended [LISTEN-004]', async () => {
    const filter = { taskIds: [TASK_ID], toolsListChanged: true, promptsListChanged: true };
    const subscriber = await listen(filter, { id: 7 });
    expect(acknowledged(subscriber)).toEqual({ taskIds: [TASK_ID], toolsListChanged: true });
    change({ state: 'cancelled' });
    await subscriber.shown('cancelled');
    for (const listener of world.changeListeners) listener('tools');
    await waitFor(() => subscriber.messages.at(-1)?.method === 'notifications/tools/list_changed');
    expect(subscriber.isOver()).toBe(false);
    // The id of the request, with its own type.
    const ids = subscriber.messages.map(({ params }) => params?._meta[SUBSCRIPTION_ID]);
    expect(ids).toEqual(subscriber.messages.map(() => 7));
  });

  it('reports no tasks or tools to clients that did not ask [LISTEN-001]', async () => {
    const tools = await listen({ toolsListChanged: true });
    const tasks = await listenToTask();
    expect(acknowledged(tools)).toEqual({ toolsListChanged: true });
    for (const listener of world.changeListeners) listener('tools');
    await waitFor(() => tools.messages.length === 2);
    change({ state: 'cancelled' });
    await tasks.shown('cancelled');
    expect(tools.messages).toHaveLength(2);
    expect(tasks.messages.map(({ method }) => method)).not.toContain('notifications/tools/list_changed');
  });
});

describe('a subscription loses no change', () => {
  it('between the check of the ids and the first read of the task', async () => {
    const { findTask } = world.gatedCalls;
    let looks = 0;
    world.gatedCalls.findTask = async (taskId, owner) => {
      const view = await findTask(taskId, owner);
      if ((looks += 1) === 1) world.view = aView({ state: 'cancelled' });
      return view;
    };
    try {
      await (await listenToTask()).shown('cancelled');
    } finally {
      world.gatedCalls.findTask = findTask;
    }
  });

  it('during a read of an older state', async () => {
    const subscriber = await listenToTask();
    await subscriber.shown('working');
    const { findTask } = world.gatedCalls;
    world.gatedCalls.findTask = async (taskId, owner) => {
      const view = await findTask(taskId, owner);
      world.gatedCalls.findTask = findTask;
      change({ state: 'cancelled' });
      return view;
    };
    change({ state: 'granted' });
    await subscriber.shown('cancelled');
    expect(subscriber.tasks().map(({ status }) => status)).toEqual(['working', 'working', 'cancelled']);
  });

  it('without a notice, when notices may have been missed', async () => {
    const subscriber = await listenToTask();
    await subscriber.shown('working');
    world.view = aView({ state: 'cancelled' });
    world.tell();
    await subscriber.shown('cancelled');
  });

  it('during a database outage', async () => {
    const subscriber = await listenToTask();
    await subscriber.shown('working');
    world.failure = new CountersignError('ERR_DATABASE_UNAVAILABLE', 'canary');
    const before = world.lookups.length;
    change({ state: 'cancelled' });
    await waitFor(() => world.lookups.length > before);
    world.failure = undefined;
    await subscriber.shown('cancelled');
  });

  it('silently: it ends the stream when a task cannot be read', async () => {
    const subscriber = await listenToTask();
    await subscriber.shown('working');
    world.failure = new CountersignError('ERR_SEAL_BROKEN', 'canary');
    world.tell(TASK_ID);
    await waitFor(() => subscriber.isOver());
    expect(subscriber.messages.at(-1)?.method).toBe('notifications/tasks');
    expect(JSON.stringify(subscriber.messages)).not.toContain('canary');
  });
});

it('a notice without a visible change sends no message', async () => {
  const subscriber = await listenToTask();
  await subscriber.shown('working');
  const before = world.lookups.length;
  world.tell('tsk_of_another_caller');
  world.tell(TASK_ID);
  await waitFor(() => world.lookups.length > before);
  change({ state: 'cancelled' });
  await subscriber.shown('cancelled');
  expect(subscriber.tasks()).toHaveLength(2);
});

describe('a subscription is refused', () => {
  it('to tasks for a client that does not declare them [TASK-073]', async () => {
    const { status, error } = await refused({ taskIds: [TASK_ID] }, { capabilities: {} });
    expect(status).toBe(400);
    expect(error).toMatchObject({
      code: -32_021,
      data: { requiredCapabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } } },
    });
    expect(world.lookups).toEqual([]);
  });

  it('but not to other changes for such a client', async () => {
    expect(acknowledged(await listen({ toolsListChanged: true }, { capabilities: {} }))).toEqual({
      toolsListChanged: true,
    });
  });

  it.each([
    ['not a list', 'tsk'],
    ['not storable text', ['tsk_\0']],
    ['too many', Array.from({ length: 101 }, (_, n) => `tsk_${n}`)],
  ])('with task ids that are %s', async (_case, taskIds) => {
    expect((await refused({ taskIds })).error?.code).toBe(-32_602);
    expect(world.lookups).toEqual([]);
  });

  it('without a filter, and with contradicting headers [LISTEN-001]', async () => {
    expect((await send(gateway, LISTEN)).body.error?.code).toBe(-32_602);
    const { status, error } = await refused({ taskIds: [TASK_ID] }, { headers: { 'mcp-method': 'tools/list' } });
    expect([status, error?.code]).toEqual([400, -32_020]);
  });

  it('during a database outage, with no statement about the tool', async () => {
    world.failure = new CountersignError('ERR_DATABASE_UNAVAILABLE', 'canary');
    const { error } = await refused({ taskIds: [TASK_ID] });
    expect(error).toMatchObject({ code: -32_603, message: expect.stringMatching(/may be repeated later/) });
    expect(error?.message).not.toMatch(/canary|\brun\b/);
  });

  it('beyond the limit of a caller or of all, until another has ended [LISTEN-005]', async () => {
    const [first] = [await listenToTask(), await listenToTask(), await listen({ toolsListChanged: true })];
    const { status, headers, error } = await refused({ taskIds: [TASK_ID] });
    expect([status, headers.get('retry-after'), error?.code]).toEqual([429, '10', 429]);
    await listen({ toolsListChanged: true }, MALLORY);
    expect((await refused({ toolsListChanged: true }, MALLORY)).status).toBe(429);
    first?.leave();
    await waitFor(async () => (await refused({ taskIds: [TASK_ID] }, MALLORY)).status === 200);
  });
});

describe('a subscription stream ends with a result', () => {
  const last = ({ messages }: Subscriber) => messages.at(-1)?.result;
  it('when the token expires [LISTEN-011]', async () => {
    // On the real clock, the token could expire before the request is accepted.
    const clock = new ManualClock(Date.now());
    const expiring = new GatewayUnderTest({ clock });
    await expiring.start();
    const subscriber = await subscribe(expiring, { taskIds: [TASK_ID], toolsListChanged: true });
    expect(subscriber.isOver()).toBe(false);
    await clock.advance(600_000);
    await waitFor(() => subscriber.isOver());
    expect(last(subscriber)).toMatchObject({ resultType: 'complete' });
    await expiring.stop();
  });

  it('when the gateway stops, for every kind of subscription [LISTEN-006]', async () => {
    const stopping = new GatewayUnderTest();
    await stopping.start();
    const both = [{ taskIds: [TASK_ID] }, { toolsListChanged: true }].map((filter) => subscribe(stopping, filter));
    const listening = await Promise.all(both);
    await stopping.stop();
    for (const subscriber of listening) {
      await waitFor(() => subscriber.isOver());
      expect(last(subscriber)).toMatchObject({ resultType: 'complete', _meta: { [SUBSCRIPTION_ID]: 'r-1' } });
    }
    expect(stopping.world.taskListeners.size).toBe(0);
  });
});
