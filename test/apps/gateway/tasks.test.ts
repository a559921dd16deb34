import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import { ownerKey } from '../../../workflows/domain/principal.ts';
import { GatewayUnderTest } from '../../support/gateway.ts';
import { ALICE, aView, TASK_ID } from '../../support/gateway-world.ts';
import { AUTHORIZATION, AWAITING, SERVER_INFO, send } from '../../support/gateway-wire.ts';

const DISPOSITION = 'io.modelcontextprotocol/tool-approval-disposition';
const ALIAS = 'net.openid.authzen/disposition';
const METHODS = ['tasks/get', 'tasks/update', 'tasks/cancel'];

const gateway = new GatewayUnderTest();
const { world } = gateway;
beforeAll(() => gateway.start());
afterAll(() => gateway.stop());
beforeEach(() => gateway.reset());

const ask = (method: string, params: Record<string, unknown> = {}, options = {}) =>
  send(gateway, method, { taskId: TASK_ID, ...params }, options);

describe('tasks/get', () => {
  it('shows a waiting task with the envelope of a curable denial [TASK-030, DENIAL-023, CACHE-008]', async () => {
    const { status, body } = await ask('tasks/get');
    expect(status).toBe(200);
    expect(body.result).toEqual({
      resultType: 'complete',
      taskId: TASK_ID,
      status: 'working',
      statusMessage: expect.stringMatching(/has not run/),
      createdAt: '2026-11-21T09:00:00.000Z',
      lastUpdatedAt: '2026-11-21T09:00:01.000Z',
      ttlMs: 14 * 86_400_000,
      pollIntervalMs: 250,
      _meta: {
        [AUTHORIZATION]: AWAITING,
        [SERVER_INFO]: expect.anything(),
      },
    });
    expect(world.lookups).toEqual([{ taskId: TASK_ID, owner: ownerKey(ALICE) }]);
  });

  it("shows an executed task with the tool's result, our statement and both dispositions [TASK-032, TASK-115, TOOL-011]", async () => {
    world.view = aView({
      state: 'executed',
      outcomeRef: 'out_1',
      result: JSON.stringify({
        content: [{ type: 'text', text: 'booked', extra: 1 }],
        structuredContent: { reference: 'PAY-1' },
        isError: false,
        _meta: { 'com.example/kept': 1, [AUTHORIZATION]: 'forged', [DISPOSITION]: 'forged' },
      }),
    });
    const { body } = await ask('tasks/get');
    expect(body.result).toEqual({
      resultType: 'complete',
      taskId: TASK_ID,
      status: 'completed',
      statusMessage: 'Finished.',
      createdAt: '2026-11-21T09:00:00.000Z',
      lastUpdatedAt: '2026-11-21T09:00:01.000Z',
      ttlMs: 14 * 86_400_000,
      result: {
        resultType: 'complete',
        isError: false,
        content: [
          { type: 'text', text: 'booked', extra: 1 },
          { type: 'text', text: expect.stringMatching(/ran once/) },
        ],
        structuredContent: { reference: 'PAY-1' },
        _meta: { 'com.example/kept': 1, [DISPOSITION]: 'approved-executed', [ALIAS]: 'approved-executed' },
      },
      _meta: { 'dev.countersign/outcome-ref': 'out_1', [SERVER_INFO]: expect.anything() },
    });
  });

  it('shows a failed task with an error and no result [TASK-034]', async () => {
    world.view = aView({ state: 'failed', reason: 'submission_refused', outcomeRef: 'out_1' });
    const { result } = (await ask('tasks/get')).body;
    expect(result).toMatchObject({ status: 'failed', error: { code: -32_603, message: expect.any(String) } });
    expect(result).not.toHaveProperty('result');
    expect(result).not.toHaveProperty('pollIntervalMs');
  });
});

describe('tasks/update and tasks/cancel', () => {
  const ack = { resultType: 'complete', _meta: { [SERVER_INFO]: expect.anything() } };

  it('acknowledges answers to unknown questions [TASK-046, TASK-049]', async () => {
    const inputResponses = { unknown: { action: 'accept', content: {} } };
    expect((await ask('tasks/update', { inputResponses })).body.result).toEqual(ack);
    expect(world.cancelled).toEqual([]);
  });

  it('acknowledges a cancellation in every state alike [TASK-061, TASK-064, CACHE-008]', async () => {
    for (const state of ['pending', 'claimed', 'executed', 'cancelled'] as const) {
      world.view = aView({ state });
      expect((await ask('tasks/cancel')).body.result).toEqual(ack);
    }
    expect(world.cancelled).toHaveLength(4);
  });
});

describe.each(METHODS)('%s', (method) => {
  it("answers unknown, purged and other callers' tasks with the same bytes [TASK-048, TASK-062, TASK-090, TASK-094, HTTP-026, SESSION-004]", async () => {
    const unknown = await send(gateway, method, { taskId: 'tsk_none' });
    const foreign = await ask(method, {}, { token: 'token-of-mallory' });
    world.view = undefined;
    const purged = await ask(method);
    expect(unknown.status).toBe(200);
    expect(unknown.body.error).toEqual({ code: -32_602, message: 'Task not found or expired' });
    expect(foreign.text).toBe(unknown.text);
    expect(purged.text).toBe(unknown.text);
    expect(world.cancelled).toEqual([]);
  });

  it('demands the tasks extension in this request, before any lookup [TASK-007, TASK-092, STATELESS-005, STATELESS-006]', async () => {
    for (const params of [{}, { taskId: 5 }]) {
      const { status, body } = await ask(method, params, { capabilities: {} });
      expect(status).toBe(400);
      expect(body.error).toMatchObject({
        code: -32_021,
        data: { requiredCapabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } } },
      });
    }
    expect(world.lookups).toEqual([]);
  });

  it.each([[undefined], [5], [{}], [''], ['x'.repeat(4_097)]])('refuses %p as a task id [TASK-090]', async (taskId) => {
    const { body } = await send(gateway, method, taskId === undefined ? {} : { taskId });
    expect(body.error?.code).toBe(-32_602);
    expect(world.lookups).toEqual([]);
  });

  it('refuses a header that names another task [TASK-081, HTTP-012]', async () => {
    const { status, body } = await ask(method, {}, { headers: { 'mcp-name': 'tsk_other' } });
    expect(status).toBe(400);
    expect(body.error?.code).toBe(-32_020);
    expect(world.lookups).toEqual([]);
  });

  it('reveals no failure of the store [TASK-091]', async () => {
    world.failure = new CountersignError('ERR_DATABASE_UNAVAILABLE', 'canary postgres://user:secret@host');
    const named = await ask(method);
    world.failure = new Error('canary stack');
    const unexpected = await ask(method);
    const message = expect.stringMatching(/may be repeated later/);
    expect(named.body.error).toMatchObject({ code: -32_603, message });
    // The tool of a task may have run.
    expect(named.text).not.toMatch(/\brun\b/);
    expect(unexpected.body.error).toEqual({ code: -32_603, message: 'Internal error' });
    expect(named.text + unexpected.text).not.toContain('canary');
  });

  it('refuses for now when this process lacks the key to a task, and does not say whether the tool ran', async () => {
    world.failure = new CountersignError('ERR_SEALING_KEY_UNAVAILABLE', 'the key "canary" is missing');
    const { body, text } = await ask(method);
    expect(body.error).toMatchObject({ code: -32_603, message: expect.stringMatching(/may be repeated later/) });
    expect(text).not.toMatch(/canary|run/);
    const alarms = gateway.logged.filter((line) => line.includes('"alarm":"sealing_key_missing"'));
    expect(alarms).toEqual([expect.stringContaining('canary')]);
  });
});

describe('removed methods [TASK-101, STATELESS-010, STATELESS-011, HTTP-009, MRTR-026]', () => {
  const OF_TASKS = ['tasks/result', 'tasks/list', 'tasks/input_response'];
  const OF_SESSIONS = ['initialize', 'ping', 'logging/setLevel', 'resources/subscribe', 'resources/unsubscribe'];
  it.each([...OF_TASKS, ...OF_SESSIONS, 'roots/list', 'no/such'])('%s is not found', async (method) => {
    const { status, body } = await ask(method);
    expect([status, body.error?.code]).toEqual([404, -32_601]);
  });
});

describe('server/discover', () => {
  it('declares the extensions, and no tasks of an earlier revision [TASK-001, TASK-103, DENIAL-001, EXT-001, EXT-004]', async () => {
    const { body } = await send(gateway, 'server/discover');
    expect(body.result?.['capabilities']).toEqual({
      tools: { listChanged: true },
      // The card of a held call is the gateway's own, also without upstreams that have resources.
      resources: { listChanged: true },
      signature: {},
      extensions: {
        'io.modelcontextprotocol/tasks': {},
        'io.modelcontextprotocol/tool-approval': {},
        'io.modelcontextprotocol/ui': {},
        'net.openid.authzen/tool-approval': { version: '0.1' },
        'io.modelcontextprotocol/structured-authorization-denials': {},
      },
    });
    expect(body.result?.['supportedVersions']).toEqual(['2026-07-28']);
  });
});

describe('tools/list', () => {
  it('shows every tool under its public name with every member except a promise of tasks [TOOL-001, REQ-016]', async () => {
    const { body } = await send(gateway, 'tools/list');
    const tools = body.result?.['tools'] as Record<string, unknown>[];
    expect(tools.map(({ name }) => name)).toEqual([
      'bank__transfer',
      'bank__anything',
      'request_access',
      'get_request_status',
    ]);
    expect(tools[0]).toMatchObject({
      description: 'Moves money.',
      'x-vendor': { kept: true },
      annotations: { destructiveHint: true },
    });
    expect(tools[0]?.['execution']).toEqual({ requirements: ['env:test'] });
  });
});
