import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { accepted, TASKS } from '../../support/input-calls.ts';
import { EVERYTHING, startRelayingGateway } from '../../support/relaying-gateway.ts';
import { subscribe, type Subscriber } from '../../support/subscriber.ts';
import { waitFor } from '../../support/wait-for.ts';

const CAN = { capabilities: { ...EVERYTHING, ...TASKS } };

let gateway: Awaited<ReturnType<typeof startRelayingGateway>>;
let { ask, call, real, upstream } = {} as typeof gateway;
beforeAll(async () => {
  gateway = await startRelayingGateway();
  ({ ask, call, real, upstream } = gateway);
});
afterAll(() => gateway.stop());
beforeEach(() => gateway.reset());

async function open(name: string, args: object): Promise<string> {
  const { text, body } = await call({ name: `up__${name}`, arguments: args }, CAN);
  expect(text).toContain('"taskId"');
  return String(body.result?.['taskId']);
}
const listen = async (taskIds: string[], options: object = {}) =>
  subscribe(real, { taskIds }, { token: await real.authority.token({ aud: real.mcpUrl }), ...CAN, ...options });
/** Disconnects. The next request follows the disconnect, so its answer proves that the gateway has noticed and stops polling. */
async function leave(subscriber: Subscriber): Promise<void> {
  subscriber.leave();
  await waitFor(() => subscriber.isOver());
  await ask('tools/list', {});
}
const looks = () => upstream.of('tasks/get').length;

describe("a subscription to an upstream's task", () => {
  it('reports it like tasks/get, until it has ended [TASK-072, TASK-074]', async () => {
    const taskId = await open('confirm_delete', { filename: 'x' });
    const subscriber = await listen([taskId]);
    expect(subscriber.messages[0]?.params?.['notifications']).toEqual({ taskIds: [taskId] });
    const asks = await subscriber.shown('input_required');
    const inputResponses = { confirm: accepted({ confirm: true }) };
    await ask('tasks/update', { taskId, inputResponses }, CAN);
    const { _meta: meta, ...last } = await subscriber.shown('completed');
    const { result } = (await ask('tasks/get', { taskId }, CAN)).body;
    const { resultType: _resultType, _meta: _ownMeta, ...shown } = result as Record<string, unknown>;
    expect(last).toEqual(shown);
    expect(meta).toEqual({ 'io.modelcontextprotocol/subscriptionId': 'r-1' });
    expect(Object.keys(asks['inputRequests'] as object)).toEqual(['confirm']);
    await waitFor(() => subscriber.isOver());
    expect(subscriber.messages.at(-1)?.result).toMatchObject({ resultType: 'complete' });
  });

  it('does not repeat an unchanged state, and stops polling once the client has gone', async () => {
    const subscriber = await listen([await open('slow_compute', { seconds: 600 })]);
    await waitFor(() => looks() > 1);
    expect(subscriber.tasks()).toHaveLength(1);
    await leave(subscriber);
    await expectNoMoreLooks();
  });

  it('is silent while the upstream does not answer, and reports once it answers again', async () => {
    const taskId = await open('slow_compute', { seconds: 0, label: 'x' });
    upstream.forge = ({ method }) => (method === 'tasks/get' ? { error: { code: -32_603, message: 'x' } } : undefined);
    const subscriber = await listen([taskId]);
    await waitFor(() => looks() > 1);
    expect([subscriber.tasks(), subscriber.isOver()]).toEqual([[], false]);
    upstream.forge = () => undefined;
    await subscriber.shown('completed');
    await waitFor(() => subscriber.isOver());
  });

  it('ends quietly when the upstream has forgotten the task', async () => {
    const taskId = await open('slow_compute', { seconds: 600 });
    upstream.forge = ({ method }) => (method === 'tasks/get' ? { error: { code: -32_602, message: 'x' } } : undefined);
    const subscriber = await listen([taskId]);
    await waitFor(() => subscriber.isOver());
    expect([subscriber.tasks(), looks()]).toEqual([[], 1]);
  });

  it('shows no question to a client that did not declare it [MRTR-005]', async () => {
    const subscriber = await listen([await open('multi_input', {})], { capabilities: TASKS });
    await waitFor(() => looks() > 1);
    expect(subscriber.tasks().filter(({ status }) => status === 'input_required')).toEqual([]);
    await leave(subscriber);
  });

  it("is for the task's owner, for at most ten of them in one stream [LISTEN-003, TASK-111]", async () => {
    const taskIds = await Promise.all(Array.from({ length: 11 }, () => open('slow_compute', { seconds: 600 })));
    const token = await real.authority.token({ aud: real.mcpUrl, sub: 'mallory' });
    const foreign = await listen(taskIds, { token });
    expect(foreign.messages[0]?.params?.['notifications']).toEqual({ taskIds: [] });
    await waitFor(() => foreign.isOver());
    expect([foreign.tasks(), looks()]).toEqual([[], 0]);
    const own = await listen(taskIds);
    expect(own.messages[0]?.params?.['notifications']).toEqual({ taskIds: taskIds.slice(0, 10) });
    await leave(own);
  });
});

/** Another listener polls twice, and no other poll arrives in that time. */
async function expectNoMoreLooks(): Promise<void> {
  const other = await listen([await open('slow_compute', { seconds: 600 })]);
  await waitFor(() => other.tasks().length > 0);
  const own = upstream.of('tasks/get')[0]?.params['taskId'];
  upstream.received.length = 0;
  await waitFor(() => looks() > 2);
  expect(upstream.of('tasks/get').every(({ params }) => params['taskId'] === own)).toBe(true);
  await leave(other);
}
