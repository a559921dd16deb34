import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { expectInvariants } from '../../invariants/check-invariants.ts';
import { anApproval, gatedCallFixture } from '../../support/gated-calls.ts';
import { send, textOf, type Sent } from '../../support/gateway-wire.ts';
import { startRealGateway } from '../../support/real-gateway.ts';
import { waitFor } from '../../support/wait-for.ts';

let real: Awaited<ReturnType<typeof startRealGateway>>;
let fixture: ReturnType<typeof gatedCallFixture>;
beforeAll(async () => {
  // A client without tasks waits for the end of its call. These tests wait only for ended calls.
  real = await startRealGateway({ waitSeconds: 45, maxPollsPerSecond: 100_000 });
  fixture = gatedCallFixture(real.database.pool);
});
afterAll(async () => {
  try {
    await expectInvariants(real.database.pool);
  } finally {
    await real.stop();
  }
});
beforeEach(() => real.reset());

const TOOL = 'files__pid';
type Args = Record<string, unknown>;
const withTasks = (args: Args, token?: string) => real.send('tools/call', { name: TOOL, arguments: args }, token);
const plainly = async (name: string, args: Args) =>
  send(
    real,
    'tools/call',
    { name, arguments: args },
    { capabilities: {}, token: await real.authority.token({ aud: real.mcpUrl }) },
  );
const requestAccess = (args: Args) => plainly('request_access', { tool: TOOL, arguments: args });
const submissions = () => real.authority.submissions().length;
const BOOKED = JSON.stringify({ content: [{ type: 'text', text: 'booked' }], structuredContent: { paid: true } });

/** Opens the call and carries it out without reading its outcome. Returns its task. */
async function carriedOut(args: Args): Promise<string> {
  const taskId = (await withTasks(args)).body.result?.['taskId'] as string;
  const text = 'SELECT id FROM gateway.gated_call WHERE task_id = $1';
  await carryOut((await real.database.pool.query<{ id: string }>(text, [taskId])).rows[0]);
  return taskId;
}

async function carryOut({ id: gatedCallId } = { id: '' }): Promise<void> {
  const [claimId, invocationId] = [randomUUID(), randomUUID()];
  await fixture.lifecycle.grant(gatedCallId, 1, anApproval());
  await fixture.claim(gatedCallId, claimId);
  await fixture.lifecycle.beginInvocation({ gatedCallId, claimId, invocationId, upstreamKey: randomUUID() });
  await fixture.lifecycle.settleResult(
    { gatedCallId, invocationId, cause: 'result' },
    { isError: false, text: BOOKED },
  );
}

const pending = async () =>
  (await real.database.pool.query<{ id: string }>("SELECT id FROM gateway.gated_call WHERE state = 'pending'")).rows;

/** Makes a call that waits, and carries it out while it waits. */
async function answered(args: Args): Promise<Sent> {
  const before = new Set((await pending()).map(({ id }) => id));
  const waiting = plainly(TOOL, args);
  await carryOut(await waitFor(async () => (await pending()).find(({ id }) => !before.has(id))));
  return waiting;
}
/** A host may show its model only a structured result, so there is none: it would look like that of a second run. */
const isOutcome = ({ body }: Sent) => {
  expect([body.result?.['isError'], body.result?.['structuredContent']]).toEqual([true, undefined]);
  expect(textOf(body.result)).toMatch(
    /^\{"paid":true\}\nbooked\nThe tool ran once, after approval\.\nThis is the outcome of an identical call, made at 20.*did not run again/,
  );
};

describe('a client that stopped waiting and repeats its call learns the outcome once, without a new approval', () => {
  it('with request_access', async () => {
    const args = { by: 'request_access' };
    await carriedOut(args);
    const asked = submissions();
    isOutcome(await requestAccess(args));
    expect(submissions()).toBe(asked);
    const again = await requestAccess(args);
    expect(textOf(again.body.result)).toMatch(/has not run.*get_request_status/);
    expect(submissions()).toBe(asked + 1);
  });

  it('with a call that waits for its end', async () => {
    const args = { by: 'waiting' };
    await carriedOut(args);
    const asked = submissions();
    isOutcome(await plainly(TOOL, args));
    expect(submissions()).toBe(asked);
  });

  it('although the first call was answered with it, which its client may not have read', async () => {
    const args = { by: 'answered' };
    const { result } = (await answered(args)).body;
    expect([result?.['isError'], result?.['structuredContent']]).toEqual([false, { paid: true }]);
    const asked = submissions();
    isOutcome(await plainly(TOOL, args));
    expect(submissions()).toBe(asked);
    expect(textOf((await requestAccess(args)).body.result)).toMatch(/has not run/);
    expect(submissions()).toBe(asked + 1);
  });
});

describe('a client with tasks that makes an identical call again', () => {
  it.each([
    ['has not read', () => Promise.resolve()],
    ['has cancelled', (taskId: string) => real.send('tasks/cancel', { taskId })],
    ['has read', (taskId: string) => real.send('tasks/get', { taskId })],
  ])('gets a new task for a call whose ended task it %s, and keeps the first', async (how, before) => {
    const args = { by: how };
    const taskId = await carriedOut(args);
    await before(taskId);
    const asked = submissions();
    const next = (await withTasks(args)).body.result;
    expect(next).toMatchObject({ resultType: 'task', status: 'working' });
    expect(next?.['taskId']).not.toBe(taskId);
    expect(submissions()).toBe(asked + 1);
    expect((await real.send('tasks/get', { taskId })).body.result).toMatchObject({
      status: 'completed',
      result: { content: [{ text: 'booked' }, {}] },
    });
  });
});

describe('an identical call is a new call', () => {
  it.each([
    ['by tasks/get', (taskId: string) => real.send('tasks/get', { taskId })],
    [
      'by get_request_status',
      async () => {
        const { result } = (await plainly('get_request_status', {})).body;
        const [newest] = (result?.['structuredContent'] as { requests: { reference: string }[] }).requests;
        return plainly('get_request_status', { reference: newest?.reference });
      },
    ],
  ])('once its caller has read the outcome of the first, %s', async (how, read) => {
    const args = { read: how };
    const taskId = await carriedOut(args);
    expect((await read(taskId)).text).toContain('booked');
    const asked = submissions();
    expect(textOf((await requestAccess(args)).body.result)).toMatch(/has not run/);
    expect(submissions()).toBe(asked + 1);
  });

  it('for every other caller, who learns no detail of the first', async () => {
    const args = { by: 'mallory' };
    const taskId = await carriedOut(args);
    const answer = await withTasks(args, await real.authority.token({ aud: real.mcpUrl, sub: 'mallory' }));
    expect(answer.body.result).toMatchObject({ status: 'working' });
    expect(answer.text).not.toContain(taskId);
    isOutcome(await plainly(TOOL, args));
  });
});

it('a caller without its references finds its own newest requests', async () => {
  const sub = randomUUID();
  const token = await real.authority.token({ aud: real.mcpUrl, sub });
  const list = async (of = token) => {
    const { result } = (
      await send(real, 'tools/call', { name: 'get_request_status', arguments: {} }, { capabilities: {}, token: of })
    ).body;
    return (result?.['structuredContent'] as { requests: Record<string, unknown>[] }).requests;
  };
  expect(await list()).toEqual([]);
  for (const n of [1, 2]) await withTasks({ list: n }, token);
  const [second, first, ...more] = await list();
  expect(more).toEqual([]);
  for (const one of [first, second])
    expect(one).toEqual({
      reference: expect.stringMatching(/^req_[0-9a-f]{32}$/),
      ...{ tool: TOOL, status: 'working', statusMessage: expect.stringMatching(/has not run/) },
      ...{ createdAt: expect.any(String), ageSeconds: expect.any(Number) },
    });
  expect(String(second?.['createdAt']) >= String(first?.['createdAt'])).toBe(true);
  expect(await list(await real.authority.token({ aud: real.mcpUrl, sub: randomUUID() }))).toEqual([]);
});
