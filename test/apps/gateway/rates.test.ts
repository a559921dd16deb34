import { afterEach, describe, expect, it } from '@jest/globals';
import { GatewayUnderTest } from '../../support/gateway.ts';
import { aView, requestable, TASK_ID } from '../../support/gateway-world.ts';
import { AUTHORIZATION, metaOf, post, send, textOf, transfer, type Sent } from '../../support/gateway-wire.ts';
import { waitFor } from '../../support/wait-for.ts';

const MALLORY = { token: 'token-of-mallory' };
/** Enough requests at once to exceed the limit before time passes. */
const MANY = 100;

let gateway!: GatewayUnderTest;
const start = async (settings: ConstructorParameters<typeof GatewayUnderTest>[0]) => {
  gateway = new GatewayUnderTest(settings);
  await gateway.start();
  return gateway.world;
};
afterEach(() => gateway.stop());

const many = <T>(make: () => Promise<T>) => Promise.all(Array.from({ length: MANY }, make));
const isRefused = ({ status }: Sent) => status === 429;
/** Repeats them until more than these are refused: on a slow machine, many seconds may pass between the first and the last. */
const tooMany = (make: () => Promise<Sent>, moreThan = 0) =>
  waitFor(async () => {
    const { lookups, evaluations, invocations } = gateway.world;
    for (const seen of [lookups, evaluations, invocations]) seen.length = 0;
    const answers = await many(make);
    return answers.filter(isRefused).length > moreThan ? answers : undefined;
  });

describe('requests about tasks', () => {
  const poll = (method = 'tasks/get', options = {}) =>
    send(gateway, method, { taskId: TASK_ID, ...(method === 'tasks/update' && { inputResponses: {} }) }, options);

  it.each(['tasks/get', 'tasks/update', 'tasks/cancel'])(
    '%s: too many are refused for a moment, without a lookup [TASK-023]',
    async (method) => {
      const world = await start({ maxPollsPerSecond: 5 });
      const answers = await tooMany(() => poll(method));
      const refused = answers.filter(isRefused);
      expect(world.lookups).toHaveLength(MANY - refused.length);
      expect(refused[0]?.headers.get('retry-after')).toBe('1');
      expect(refused[0]?.body).toEqual({
        jsonrpc: '2.0',
        id: 'r-1',
        error: { code: 429, message: expect.any(String) },
      });
      // The limit does not affect other callers or calls.
      expect((await poll(method, MALLORY)).status).toBe(200);
      expect((await send(gateway, 'tools/call', transfer())).status).toBe(200);
      await waitFor(async () => (await poll(method)).status === 200);
    },
  );

  it('pass at the advised rate', async () => {
    await start({});
    const answers = await many(() => poll());
    expect(answers.filter(isRefused)).toEqual([]);
  });

  it('are counted for the caller, for any claimed session or address [SESSION-005]', async () => {
    await start({ maxPollsPerSecond: 5 });
    let sessions = 0;
    const answers = await tooMany(() => {
      const session = String((sessions += 1));
      return poll('tasks/get', { headers: { 'mcp-session-id': session, 'x-forwarded-for': `10.0.0.${session}` } });
    });
    expect(answers.filter(isRefused).length).toBeGreaterThan(0);
  });

  it('count a list of tasks that is refused for its length as one request', async () => {
    const world = await start({ maxPollsPerSecond: 50 });
    const taskIds = Array.from({ length: 2_000 }, (_, n) => `tsk_${n}`);
    const { body } = await send(gateway, 'subscriptions/listen', { notifications: { taskIds } });
    expect([body.error?.code, world.lookups]).toEqual([-32_602, []]);
    expect(isRefused(await poll())).toBe(false);
  });

  it('count each task of a subscription', async () => {
    const world = await start({ maxPollsPerSecond: 50 });
    world.view = aView({ state: 'cancelled' });
    const taskIds = Array.from({ length: 40 }, (_, n) => `tsk_${n}`);
    const listen = () => send(gateway, 'subscriptions/listen', { notifications: { taskIds } });
    expect(await tooMany(listen, MANY / 2)).toHaveLength(MANY);
  });
});

describe('calls of tools', () => {
  const call = (options = {}) => send(gateway, 'tools/call', transfer(), options);

  it('are refused for a moment when there are too many, before any decision [TOOL-007]', async () => {
    const world = await start({ maxCallsPerSecond: 5 });
    const answers = await tooMany(() => call());
    const refused = answers.filter(isRefused);
    expect([world.evaluations.length, world.invocations.length]).toEqual([
      MANY - refused.length,
      MANY - refused.length,
    ]);
    expect(refused[0]?.headers.get('retry-after')).toBe('1');
    expect(refused[0]?.body).toEqual({
      jsonrpc: '2.0',
      id: 'r-1',
      error: { code: 429, message: 'Too many tool calls. The tool did not run.' },
    });
    // The limit does not affect other callers or requests about tasks.
    expect((await call(MALLORY)).status).toBe(200);
    expect((await send(gateway, 'tasks/get', { taskId: TASK_ID })).status).toBe(200);
    await waitFor(async () => (await call()).status === 200);
  });

  it('count individually in a batch of an earlier revision', async () => {
    const world = await start({ maxCallsPerSecond: 5 });
    const message = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: transfer() };
    const batch = JSON.stringify(Array.from({ length: 6 }, () => message));
    const answers = await tooMany(() => post(gateway, batch, { authorization: 'Bearer token-of-alice' }), MANY / 2);
    expect(answers.find(isRefused)?.body).toMatchObject({ id: 7, error: { code: 429 } });
    expect(world.invocations.length).toBeLessThan(MANY);
  });

  it('pass at the rate of real agents', async () => {
    await start({});
    const answers = await many(() => call());
    expect(answers.filter(isRefused)).toEqual([]);
  });
});

describe('access requests', () => {
  const call = (options = {}) => send(gateway, 'tools/call', transfer(), options);

  it('above the limit per minute are denied without an invitation, and no request is opened', async () => {
    const world = await start({ maxSubmissionsPerMinute: 3 });
    world.decision = requestable();
    for (let n = 0; n < 3; n += 1) expect((await call()).body.result?.['resultType']).toBe('task');
    const { result } = (await call()).body;
    expect(result).toMatchObject({ resultType: 'complete', isError: true });
    expect(textOf(result)).toMatch(/did not run.*do not repeat/);
    expect(metaOf(result)[AUTHORIZATION]).toEqual({
      reason: 'insufficient_authorization',
      remediation: 'undisclosed',
    });
    expect(world.openings).toHaveLength(3);
    // The limit counts each caller separately, and allowed calls have no limit.
    await call(MALLORY);
    expect(world.openings.length).toBeGreaterThan(3);
    world.decision = { kind: 'allow' };
    expect((await call()).body.result).toMatchObject({ content: [{ text: 'booked' }] });
  });

  it('have the limit of open calls by default', async () => {
    const world = await start({ maxOpenPerCaller: 2 });
    world.decision = requestable();
    for (let n = 0; n < 2; n += 1) expect((await call()).body.result?.['resultType']).toBe('task');
    expect((await call()).body.result).toMatchObject({ isError: true });
  });

  it.each(['joined', 'too_many'] as const)('do not count a call that opened no request (%s)', async (kind) => {
    const world = await start({ maxSubmissionsPerMinute: 2 });
    world.decision = requestable();
    const opened = world.opened;
    world.opened = kind === 'joined' ? { kind, gatedCallId: aView().gatedCallId, taskId: TASK_ID } : { kind };
    for (let n = 0; n < 5; n += 1) await call();
    world.opened = opened;
    expect((await call()).body.result?.['resultType']).toBe('task');
  });
});
