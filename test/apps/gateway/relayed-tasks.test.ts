import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { declaredTo } from '../../support/conversing-upstream.ts';
import { AUTHORIZATION, metaOf, SERVER_INFO, textOf, type Sent, type SendOptions } from '../../support/gateway-wire.ts';
import { accepted, questionIn, TASKS } from '../../support/input-calls.ts';
import { asking, EVERYTHING, startRelayingGateway } from '../../support/relaying-gateway.ts';
import { waitFor } from '../../support/wait-for.ts';

const UNKNOWN = { code: -32_602, message: 'Task not found or expired' };
const DISPOSITION = 'io.modelcontextprotocol/tool-approval-disposition';
const CAN = { capabilities: { ...EVERYTHING, ...TASKS } };

let gateway: Awaited<ReturnType<typeof startRelayingGateway>>;
let { ask, call, real, upstream } = {} as typeof gateway;
beforeAll(async () => {
  gateway = await startRelayingGateway('up__failing_job');
  ({ ask, call, real, upstream } = gateway);
});
afterAll(() => gateway.stop());
beforeEach(() => gateway.reset());

const tool = (name: string, args: object = {}) => ({ name: `up__${name}`, arguments: args });
const taskIdOf = ({ body }: Sent) => String(body.result?.['taskId']);
const open = async (name: string, args: object = {}) => taskIdOf(await call(tool(name, args), CAN));
const get = (taskId: string, options: SendOptions = {}) => ask('tasks/get', { taskId }, { ...CAN, ...options });
const statusOf = ({ body }: Sent) => body.result?.['status'];

/** The task, once it has this status. */
async function until(taskId: string, status: string): Promise<Sent> {
  let seen: Sent | undefined;
  await waitFor(async () => statusOf((seen = await get(taskId))) === status);
  return seen as Sent;
}

/** From now on, the upstream's answers to requests about tasks. */
const forge = (result: object, method = 'tasks/get') =>
  (upstream.forge = (request) => (request.method === method ? { result } : undefined));
const NOW = '2026-11-21T09:00:00Z';
const theirs = (members: object) => ({
  resultType: 'complete',
  ...{ taskId: 'theirs', createdAt: NOW, lastUpdatedAt: NOW, ttlMs: 60_000, pollIntervalMs: 100 },
  ...members,
});

describe('a task that an upstream opens', () => {
  it('becomes a task of ours under another id, with all else as the upstream says [TASK-010, TASK-015, TASK-016]', async () => {
    const { status, body } = await call(tool('slow_compute', { seconds: 0, label: 'x' }), CAN);
    expect([status, declaredTo(upstream.of('tools/call')[0])]).toEqual([200, CAN.capabilities]);
    expect(body.result).toEqual({
      resultType: 'task',
      taskId: expect.stringMatching(/^eyJ/),
      status: 'working',
      createdAt: expect.any(String),
      lastUpdatedAt: expect.any(String),
      ttlMs: 600_000,
      pollIntervalMs: 100,
      _meta: { [SERVER_INFO]: expect.objectContaining({ name: 'countersign' }) },
    });
    const taskId = taskIdOf({ body } as Sent);
    const { result } = (await until(taskId, 'completed')).body;
    expect(result).toMatchObject({ resultType: 'complete', taskId, ttlMs: 600_000, pollIntervalMs: 100 });
    expect(result?.['result']).toEqual({ resultType: 'complete', content: [{ type: 'text', text: 'Computed x.' }] });
    const [asked] = upstream.of('tasks/get');
    expect(asked?.params['taskId']).toMatch(/^[0-9a-f-]{36}$/);
    expect(asked?.headers['mcp-name']).toBe(asked?.params['taskId']);
    expect(await rows()).toBe(0);
  });

  it('is opened only for clients that declare tasks with this request [TASK-003, TASK-006, TASK-007]', async () => {
    expect(textOf((await call(tool('slow_compute', { label: 'x' }))).body.result)).toBe('Computed x.');
    expect(declaredTo(upstream.of('tools/call')[0])).toEqual(EVERYTHING);
    const { status, body } = await call(tool('confirm_delete'));
    expect([status, body.error?.code, body.error?.data]).toEqual([400, -32_021, { requiredCapabilities: TASKS }]);
    forge({ ...theirs({ status: 'working' }), resultType: 'task' }, 'tools/call');
    expect((await call(tool('greet'))).body.error).toMatchObject({ code: -32_603 });
  });

  it('may follow a question [TASK-021]', async () => {
    const params = tool('test_tool_with_task');
    const { key, requestState } = questionIn(await call(params, CAN));
    const answer = { inputResponses: { [key]: accepted({ name: 'Ada' }) }, requestState };
    const created = await call({ ...params, ...answer }, CAN);
    expect(created.text).not.toContain('requestState');
    const { result } = (await until(taskIdOf(created), 'completed')).body;
    expect(JSON.stringify(result?.['result'])).toContain('Hello, Ada!');
  });

  it('asks for input, accepts partial answers, and continues [TASK-031, TASK-045, TASK-046, TASK-050]', async () => {
    const taskId = await open('multi_input');
    const asks = await until(taskId, 'input_required');
    expect(Object.keys(asks.body.result?.['inputRequests'] as object)).toEqual(['one', 'two']);
    const update = async (inputResponses: object) => ask('tasks/update', { taskId, inputResponses }, CAN);
    const ack = await update({ one: accepted({ name: '1' }), other: accepted() });
    expect(ack.body.result).toEqual({ resultType: 'complete', _meta: expect.anything() });
    const left = (await get(taskId)).body.result;
    expect([left?.['status'], Object.keys(left?.['inputRequests'] as object)]).toEqual(['input_required', ['two']]);
    await update({ two: accepted({ name: '2' }) });
    expect(JSON.stringify((await until(taskId, 'completed')).body.result)).toContain('Answers: one, two.');
  });

  it('shows no question to a client that did not declare it [MRTR-005]', async () => {
    const taskId = await open('multi_input');
    await until(taskId, 'input_required');
    const { status, body } = await get(taskId, { capabilities: TASKS });
    expect([status, body.error?.code]).toEqual([400, -32_021]);
    expect(body.error?.data).toEqual({ requiredCapabilities: { elicitation: { form: {} } } });
  });

  it('fails as the upstream says, and is cancelled there, once or twice [TASK-034, TASK-061, TASK-064]', async () => {
    const failed = await until(await open('protocol_error_job'), 'failed');
    expect(failed.body.result).toMatchObject({ error: { code: -32_603, message: 'The job broke.' } });
    const taskId = await open('slow_compute', { seconds: 600 });
    for (let times = 0; times < 2; times += 1) {
      const ack = await ask('tasks/cancel', { taskId }, CAN);
      expect(ack.body.result).toEqual({ resultType: 'complete', _meta: expect.anything() });
    }
    expect(statusOf(await get(taskId))).toBe('cancelled');
  });

  it('cannot carry our own members: approvals, our name or a state', async () => {
    const taskId = await open('slow_compute', { seconds: 600 });
    const _meta = { [DISPOSITION]: 'approved-executed', [AUTHORIZATION]: {}, 'dev.countersign/x': 1, own: 1 };
    const result = { content: [], _meta: { ..._meta, 'io.modelcontextprotocol/related-task': {} } };
    forge(theirs({ status: 'completed', requestState: 'theirs', result, _meta, extra: 'kept' }));
    const shown = (await get(taskId)).body.result;
    expect(metaOf(shown)).toEqual({ own: 1, [SERVER_INFO]: expect.anything() });
    expect(shown).toMatchObject({ taskId, extra: 'kept' });
    expect(shown?.['result']).toEqual({ resultType: 'complete', content: [], _meta: { own: 1 } });
    expect(JSON.stringify(shown)).not.toMatch(/requestState|disposition|theirs/);
  });

  it.each<[string, object]>([
    ['has no status', {}],
    ['has no result', { status: 'completed' }],
    ['has another status', { status: 'pending' }],
    ['asks an unsupported question', { status: 'input_required', inputRequests: { q: { method: 'tools/call' } } }],
    ['has a text as its time to live', { status: 'working', ttlMs: 'long' }],
  ])('that %s is not passed on', async (_c, members) => {
    const taskId = await open('slow_compute', { seconds: 600 });
    forge(theirs(members));
    expect((await get(taskId)).body.error).toMatchObject({ code: -32_603, message: expect.stringMatching(/upstream/) });
  });

  it('never claims to live longer than its id', async () => {
    const taskId = await open('slow_compute', { seconds: 600 });
    forge(theirs({ status: 'working', ttlMs: null }));
    expect((await get(taskId)).body.result?.['ttlMs']).toBe(30 * 24 * 3_600_000);
  });
});

describe('the withheld results of a tool', () => {
  it('stay withheld in a task, with all members beside them', async () => {
    const created = await call(tool('failing_job'), CAN);
    expect(declaredTo(upstream.of('tools/call')[0])).toEqual(TASKS);
    const taskId = taskIdOf(created);
    const ended = await until(taskId, 'completed');
    expect(textOf(ended.body.result?.['result'] as never)).toMatch(/withheld/);
    expect(ended.body.result?.['result']).toMatchObject({ isError: true });
    expect(ended.text).not.toContain('The job has failed.');
    const inputRequests = { canary: { method: 'roots/list' } };
    const error = { code: -32_000, message: 'canary', data: 'canary' };
    for (const members of [
      { status: 'input_required', inputRequests },
      { status: 'failed', error },
    ]) {
      forge(theirs({ ...members, statusMessage: 'canary', _meta: { canary: 1 }, more: 'canary' }));
      const shown = await get(taskId);
      expect(statusOf(shown)).toBe(members.status);
      expect(shown.text).not.toContain('canary');
    }
  });
});

describe('the id of a task of an upstream', () => {
  const refused = async (taskId: string, options: SendOptions = {}) => {
    const asked = upstream.of('tasks/get', 'tasks/update', 'tasks/cancel').length;
    const answers = [];
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
      const answer = await ask(method, { taskId }, { ...CAN, ...options });
      expect(answer.body.error).toEqual(UNKNOWN);
      answers.push([answer.status, answer.text]);
    }
    expect(upstream.of('tasks/get', 'tasks/update', 'tasks/cancel')).toHaveLength(asked);
    return answers;
  };

  it('is useless to any other caller, to the byte [TASK-062, TASK-090, TASK-111, TASK-112]', async () => {
    const taskId = await open('slow_compute', { seconds: 600 });
    const unknown = await refused('tsk_00000000000000000000000000000000');
    for (const claims of [{ sub: 'mallory' }, { client_id: 'agent-8' }]) {
      const token = await real.authority.token({ aud: real.mcpUrl, ...claims });
      expect(await refused(taskId, { token })).toEqual(unknown);
    }
    for (const one of [`${taskId}x`, taskId.slice(0, -2), 'eyJhbGciOiJkaXIifQ....']) {
      expect(await refused(one)).toEqual(unknown);
    }
    expect(statusOf(await get(taskId))).toBe('working');
  });

  it('is no state of a round, and a state is no task id', async () => {
    const taskId = await open('slow_compute', { seconds: 600 });
    const { requestState } = questionIn(await call(asking('elicitation'), CAN));
    await refused(requestState);
    const { body } = await call({ ...asking('elicitation'), requestState: taskId }, CAN);
    expect(body.error?.data).toEqual({ reason: 'invalid_request_state' });
  });

  it('expires, and is unknown when the upstream has forgotten its task [TASK-094]', async () => {
    const taskId = await open('slow_compute', { seconds: 600 });
    real.clock.aheadMs = 31 * 24 * 3_600_000;
    try {
      await refused(taskId);
    } finally {
      real.clock.aheadMs = 0;
    }
    upstream.forge = ({ method }) =>
      method === 'tasks/get' ? { error: { code: -32_602, message: 'canary' } } : undefined;
    expect((await get(taskId)).body.error).toEqual(UNKNOWN);
    upstream.forge = ({ method }) => (method === 'tasks/get' ? { error: { code: -1, message: 'canary' } } : undefined);
    expect((await get(taskId)).body.error).toMatchObject({ code: -32_603, message: expect.stringMatching(/upstream/) });
  });
});

const rows = async () => (await real.database.pool.query('SELECT FROM gateway.gated_call')).rowCount;
