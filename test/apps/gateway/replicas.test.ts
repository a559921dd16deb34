import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createTaskSessionFromClient } from '@modelcontextprotocol/ext-tasks/client';
import { rawDispatchOver } from '../../../apps/cli/demo/agent.ts';
import { anApproval, gatedCallFixture } from '../../support/gated-calls.ts';
import { send } from '../../support/gateway-wire.ts';
import { startRealGateway } from '../../support/real-gateway.ts';
import { subscribe, type Subscriber } from '../../support/subscriber.ts';
import { waitFor } from '../../support/wait-for.ts';

const PROTOCOL_VERSION = '2026-07-28';
const clientInfo = { name: 'replicas-test', version: '0' };
const clientCapabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} } };

let real: Awaited<ReturnType<typeof startRealGateway>>;
let fixture: ReturnType<typeof gatedCallFixture>;
/** A second gateway over the same database. */
let other: { mcpUrl: string };
/** Valid at both. */
let token: string;
beforeAll(async () => {
  // A client that polls at this interval learns nothing within the test.
  real = await startRealGateway({ maxOpenPerCaller: 1_000, pollIntervalMs: 3_600_000 });
  other = await real.another();
  fixture = gatedCallFixture(real.database.pool);
  token = await real.authority.token({ aud: [real.mcpUrl, other.mcpUrl] });
});
afterAll(() => real.stop());
beforeEach(() => real.reset());

const subscribers: Subscriber[] = [];
afterEach(() => {
  for (const subscriber of subscribers.splice(0)) subscriber.leave();
});
const listenAtOther = async (taskIds: string[]) => {
  const subscriber = await subscribe(other, { taskIds }, { token });
  subscribers.push(subscriber);
  return subscriber;
};

let calls = 0;
async function openAtFirst(): Promise<{ taskId: string; gatedCallId: string }> {
  const { body } = await real.send('tools/call', { name: 'files__pid', arguments: { n: (calls += 1) } }, token);
  return withRow(String(body.result?.['taskId']));
}
async function withRow(taskId: string) {
  const text = 'SELECT id FROM gateway.gated_call WHERE task_id = $1';
  const { rows } = await real.database.pool.query<{ id: string }>(text, [taskId]);
  return { taskId, gatedCallId: rows[0]?.id ?? 'none' };
}
/** The worker's steps with an approved call. */
async function execute({ gatedCallId }: { gatedCallId: string }): Promise<void> {
  const { lifecycle } = fixture;
  await lifecycle.grant(gatedCallId, 1, anApproval());
  const call = { gatedCallId, claimId: randomUUID(), invocationId: randomUUID(), upstreamKey: randomUUID() };
  await fixture.claim(gatedCallId, call.claimId);
  await lifecycle.beginInvocation(call);
  await lifecycle.settleResult({ ...call, cause: 'result' }, { isError: false, text: RESULT });
}
const RESULT = JSON.stringify({ content: [{ type: 'text', text: 'done' }] });
const got = async (taskId: string) => (await real.send('tasks/get', { taskId }, token)).body.result;
const withoutMeta = ({ _meta, ...task }: Record<string, unknown>) => task;

/** An official client of the second gateway, with every task that it heard of. */
async function connectToOther() {
  const client = new Client(clientInfo, {
    capabilities: clientCapabilities,
    versionNegotiation: { mode: { pin: PROTOCOL_VERSION } },
  });
  const told: Record<string, unknown>[] = [];
  client.fallbackNotificationHandler = async ({ method, params }) => {
    if (method === 'notifications/tasks') told.push({ ...params });
  };
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(other.mcpUrl), { requestInit }));
  return { client, told, listen: (taskIds: string[]) => client.listen({ taskIds } as object) };
}

describe('a task that was opened at one gateway', () => {
  it('is reported by another, step by step to the end that tasks/get shows [TASK-070, TASK-074]', async () => {
    const call = await openAtFirst();
    const subscriber = await listenAtOther([call.taskId]);
    await subscriber.shown('working');
    await execute(call);
    const last = await subscriber.shown('completed');
    const { resultType: _resultType, ...result } = (await got(call.taskId)) ?? {};
    expect(withoutMeta(last)).toEqual(withoutMeta(result));
    const meta = { ...(result['_meta'] as object), 'io.modelcontextprotocol/subscriptionId': 'r-1' };
    expect({ 'io.modelcontextprotocol/serverInfo': expect.anything(), ...(last['_meta'] as object) }).toEqual({
      ...meta,
      'io.modelcontextprotocol/serverInfo': expect.anything(),
    });
    // States never go back and never repeat.
    const messages = subscriber.tasks().map(({ statusMessage }) => String(statusMessage));
    expect(new Set(messages).size).toBe(messages.length);
  });

  it('is reported only to its owner', async () => {
    const { taskId } = await openAtFirst();
    const foreign = await real.authority.token({ aud: other.mcpUrl, sub: 'mallory' });
    const subscriber = await subscribe(other, { taskIds: [taskId] }, { token: foreign });
    await waitFor(() => subscriber.isOver());
    expect(subscriber.messages[0]?.params?.['notifications']).toEqual({ taskIds: [] });
    expect(subscriber.tasks()).toEqual([]);
  });

  it('is reported when a change is committed, not earlier [LISTEN-012]', async () => {
    const [changing, second] = [await openAtFirst(), await openAtFirst()];
    const subscriber = await listenAtOther([changing.taskId, second.taskId]);
    await waitFor(() => subscriber.tasks().length === 2);
    const told = (taskId: string) => subscriber.tasks().filter((task) => task['taskId'] === taskId);
    const client = await real.database.pool.connect();
    try {
      await client.query('BEGIN');
      const cancel = `SELECT gateway.end_unclaimed($1, 'cancelled', 'client_cancelled', 'client', 3600000)`;
      await client.query(cancel, [changing.gatedCallId]);
      // A notice of the first change would arrive before that of the second.
      await fixture.calls.cancel(second.gatedCallId);
      expect(await subscriber.shown('cancelled')).toMatchObject({ taskId: second.taskId });
      expect(told(changing.taskId)).toMatchObject([{ status: 'working' }]);
      expect(await got(changing.taskId)).toMatchObject({ status: 'working' });
      await client.query('COMMIT');
    } finally {
      client.release();
    }
    await waitFor(() => told(changing.taskId).length === 2);
    expect(told(changing.taskId)[1]).toMatchObject({ status: 'cancelled' });
  });

  it('ends at its deadline without any poll', async () => {
    const call = await openAtFirst();
    const subscriber = await listenAtOther([call.taskId]);
    const text = 'UPDATE gateway.gated_call SET request_deadline = clock_timestamp() WHERE id = $1';
    await real.database.pool.query(text, [call.gatedCallId]);
    expect(await subscriber.shown('completed')).toMatchObject({ result: { isError: true } });
  });

  it('is reported although the notice was lost with the connection', async () => {
    const call = await openAtFirst();
    const subscriber = await listenAtOther([call.taskId]);
    await subscriber.shown('working');
    const text = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE application_name = 'countersign gateway_task' AND datname = current_database()`;
    expect((await real.database.pool.query(text)).rowCount).toBe(2);
    await fixture.calls.cancel(call.gatedCallId);
    expect(await subscriber.shown('cancelled')).toMatchObject({ taskId: call.taskId });
  });

  it('is reported alongside many others, each to its own subscribers', async () => {
    const opened = await Promise.all(Array.from({ length: 12 }, openAtFirst));
    const listening = await Promise.all(opened.map(({ taskId }) => listenAtOther([taskId])));
    await Promise.all(opened.map(({ gatedCallId }) => fixture.calls.cancel(gatedCallId)));
    for (const [index, subscriber] of listening.entries()) {
      await subscriber.shown('cancelled');
      expect(new Set(subscriber.tasks().map(({ taskId }) => taskId))).toEqual(new Set([opened[index]?.taskId]));
    }
  });
});

it('any gateway can take over from one that stops, because each request names its task [STATELESS-015, STATELESS-016, SESSION-006]', async () => {
  const third = await real.another();
  const everywhere = await real.authority.token({ aud: [third.mcpUrl, other.mcpUrl] });
  const at = (gateway: { mcpUrl: string }, method: string, params: Record<string, unknown>) =>
    send(gateway, method, params, { token: everywhere });
  const held = { name: 'files__pid', arguments: { n: (calls += 1) } };
  const taskId = String((await at(third, 'tools/call', held)).body.result?.['taskId']);
  // The identical call is the same task at every gateway.
  expect((await at(other, 'tools/call', held)).body.result).toMatchObject({ taskId });
  real.authority.decide = () => ({ decision: true });
  const allowed = async (gateway: { mcpUrl: string }) =>
    (await at(gateway, 'tools/call', { name: 'files__pid', arguments: {} })).body.result;
  const ran = { content: [{ type: 'text', text: expect.stringMatching(/^\d+$/) }] };
  for (const gateway of [third, other, third]) expect(await allowed(gateway)).toMatchObject(ran);
  await third.stop();
  expect(await allowed(other)).toMatchObject(ran);
  expect((await at(other, 'tasks/get', { taskId })).body.result).toMatchObject({ status: 'working', taskId });
  await at(other, 'tasks/cancel', { taskId });
  expect((await at(other, 'tasks/get', { taskId })).body.result).toMatchObject({ status: 'cancelled' });
});

describe('official clients', () => {
  it('the SDK hears of a task that it subscribed to', async () => {
    const call = await openAtFirst();
    const { client, told, listen } = await connectToOther();
    try {
      const subscription = await listen([call.taskId]);
      await execute(call);
      const last = await waitFor(() => told.find(({ status }) => status === 'completed'));
      expect(last).toMatchObject({ taskId: call.taskId, result: { content: [{ text: 'done' }, {}] } });
      expect(await subscription.closed).toBe('graceful');
    } finally {
      await client.close();
    }
  });

  it('the tasks client settles by notifications, without polls', async () => {
    const { client, listen } = await connectToOther();
    const session = createTaskSessionFromClient(client, {
      endpointId: other.mcpUrl,
      rawDispatch: rawDispatchOver(client),
      v2RequestFraming: { protocolVersion: PROTOCOL_VERSION, clientInfo, clientCapabilities },
    });
    try {
      const execution = await session.callTool('files__pid', { n: (calls += 1) });
      if (execution.kind !== 'task') throw new Error('the call is not put on hold');
      const { taskId } = execution.handle;
      const settled = execution.settle();
      await listen([String(taskId)]);
      await execute(await withRow(String(taskId)));
      expect((await settled).outcome).toMatchObject({
        status: 'completed',
        result: { content: [{ text: 'done' }, {}] },
      });
    } finally {
      await session.close();
      await client.close();
    }
  });
});
