import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { createDueCalls } from '../../../activities/stores/due-calls.ts';
import { signedHeaders } from '../../../apps/shared/http/webhook-signature.ts';
import type { Principal } from '../../../workflows/domain/principal.ts';
import { expectInvariants } from '../../invariants/check-invariants.ts';
import { anApproval, anOpening, gatedCallFixture } from '../../support/gated-calls.ts';
import { CALLBACK_SECRET } from '../../support/gateway-world.ts';
import { isForLater, type Sent } from '../../support/gateway-wire.ts';
import { startRealGateway } from '../../support/real-gateway.ts';
import { times } from '../../support/regime.ts';
import { stepsIn, TOOL, type World } from '../../support/steps.ts';
import { waitFor, repeatWhile } from '../../support/wait-for.ts';

const DISPOSITION = 'io.modelcontextprotocol/tool-approval-disposition';
const NOT_FOUND = { code: -32_602, message: 'Task not found or expired' };

let real: Awaited<ReturnType<typeof startRealGateway>>;
let fixture: ReturnType<typeof gatedCallFixture>;
beforeAll(async () => {
  // Limits that no machine reaches by polling.
  real = await startRealGateway({ maxOpenPerCaller: 1_000, maxPollsPerSecond: 100_000 });
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

const call = (args: Record<string, unknown>, token?: string) =>
  real.send('tools/call', { name: 'files__pid', arguments: args }, token);
const taskIdOf = ({ body }: Sent) => body.result?.['taskId'] as string;
const get = async (taskId: string) => (await real.send('tasks/get', { taskId })).body;
const gatedCallOf = async (taskId: string) => {
  const text = 'SELECT id FROM gateway.gated_call WHERE task_id = $1';
  const { rows } = await real.database.pool.query<{ id: string }>(text, [taskId]);
  return { gatedCallId: rows[0]?.id ?? '' };
};
/** A worker's next step with this call. */
const step = async (taskId: string, world: World) => {
  const of = await gatedCallOf(taskId);
  const { toolDigest: digest } = (await fixture.lifecycle.load(of.gatedCallId)).binding;
  return stepsIn({ tool: { ...TOOL, digest }, ...world }, fixture.lifecycle).toTheClaim(of);
};
/** All stored data about a call. */
async function everything(taskId: string): Promise<unknown> {
  const { gatedCallId } = await gatedCallOf(taskId);
  const tables = ['submission', 'decision', 'approval', 'execution_claim', 'call_event', 'outcome_record', 'data_key'];
  const rows = tables.map(
    (table) => `(SELECT jsonb_agg(to_jsonb(t) ORDER BY t) FROM gateway.${table} t WHERE gated_call_id = $1::uuid)`,
  );
  const text = `SELECT (SELECT to_jsonb(g) FROM gateway.gated_call g WHERE id = $1::uuid), ${rows.join(', ')},
    (SELECT jsonb_agg(to_jsonb(o) ORDER BY o.id) FROM gateway.outbox o WHERE subject_id = $1::text)`;
  return (await real.database.pool.query({ text, values: [gatedCallId], rowMode: 'array' })).rows;
}
const evaluations = () => real.authority.seen.filter(({ path }) => path === '/access/v1/evaluation').length;
const keys = () => real.authority.submissions().map(({ headers }) => headers['idempotency-key']);

describe("an identical call after an approver's denial", () => {
  async function denied(args: { n: number }) {
    const taskId = taskIdOf(await call(args));
    expect(await step(taskId, { status: { kind: 'denied' } })).toEqual({ kind: 'ended' });
    return { taskId, before: await everything(taskId), asked: evaluations(), submitted: keys() };
  }
  const stillDenied = async ({ taskId, before }: Awaited<ReturnType<typeof denied>>) => {
    expect((await get(taskId)).result).toMatchObject({
      status: 'completed',
      result: { isError: true, _meta: { [DISPOSITION]: 'denied-not-executed' } },
    });
    expect(await everything(taskId)).toEqual(before);
  };

  it('is decided again, with its own task and request while policy wants an approval [PRJ-33] [ARAP-REV-14]', async () => {
    const first = await denied({ n: 1 });
    const taskId = taskIdOf(await call({ n: 1 }));
    expect(taskId).toMatch(/^tsk_/);
    expect(taskId).not.toBe(first.taskId);
    expect(evaluations()).toBe(first.asked + 1);
    expect(new Set([...first.submitted, ...keys()]).size).toBe(2);
    expect((await get(taskId)).result).toMatchObject({ status: 'working' });
    await stillDenied(first);
  });

  it('is no task where policy now denies it for good, and no approver is asked', async () => {
    const first = await denied({ n: 2 });
    real.authority.decide = () => ({ decision: false });
    const { result } = (await call({ n: 2 })).body;
    expect(result).toMatchObject({ resultType: 'complete', isError: true });
    expect(result).not.toHaveProperty('taskId');
    expect([evaluations(), keys()]).toEqual([first.asked + 1, first.submitted]);
    await stillDenied(first);
  });

  it('runs where policy now allows it', async () => {
    const first = await denied({ n: 3 });
    real.authority.decide = () => ({ decision: true });
    expect((await call({ n: 3 })).body.result).toMatchObject({ content: [{ text: expect.stringMatching(/^\d+$/) }] });
    await stillDenied(first);
  });
});

describe('tasks/update', () => {
  const UPDATES = {
    'with an answer to an unknown question': {
      inputResponses: { unknown: { action: 'accept', content: {} } },
    },
    'with many of them': {
      inputResponses: Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`k${n}`, { action: 'decline' }])),
    },
    'with names that every object has': { inputResponses: JSON.parse('{"constructor":{},"toString":{}}') as object },
    'with no answer': { inputResponses: {} },
    'with answers that are none': { inputResponses: 'yes' },
    'with members of a task': {
      inputResponses: {},
      status: 'completed',
      state: 'granted',
      result: { content: [] },
      generation: 7,
    },
  };
  const STATES: Record<string, (taskId: string) => Promise<unknown>> = {
    'a waiting task': async () => undefined,
    'a denied task': (taskId) => step(taskId, { status: { kind: 'denied' } }),
    'a cancelled task': (taskId) => real.send('tasks/cancel', { taskId }),
  };

  it.each(Object.entries(STATES))('has no effect on %s, with any content and however often', async (name, reach) => {
    const taskId = taskIdOf(await call({ n: name }));
    await reach(taskId);
    const before = [await everything(taskId), (await get(taskId)).result];
    for (const [update, params] of Object.entries(UPDATES)) {
      const answers = await Promise.all([1, 2, 3].map(() => real.send('tasks/update', { taskId, ...params })));
      for (const { status, body } of answers) {
        expect([update, status, body.result?.['resultType'], body.error]).toEqual([update, 200, 'complete', undefined]);
      }
    }
    expect([await everything(taskId), (await get(taskId)).result]).toEqual(before);
  });
});

describe('an authentic callback', () => {
  const webhook = new Webhook(CALLBACK_SECRET);
  const callback = async (id: string, status = 'approved') => {
    const body = JSON.stringify({ state: 'opaque', task: { id, status, status_endpoint: real.authority.url } });
    const headers = signedHeaders(webhook, { id: `msg_${randomUUID()}`, body, at: new Date() });
    return (await fetch(real.callbackUrl, { method: 'POST', headers, body })).status;
  };
  const handle = (accessRequestId: string) => ({ accessRequestId, statusEndpoint: real.authority.url });

  it('of a used generation has no effect, and one of the current generation wakes the call', async () => {
    const [first, second] = [randomUUID(), randomUUID()];
    const status_endpoint = `${real.authority.url}/access/v1/requests/${first}`;
    real.authority.accept = () => ({ status: 202, body: { task: { id: first, status: 'pending', status_endpoint } } });
    const taskId = taskIdOf(await call({ n: 1, callback: true }));
    const wantsMore: World['decision'] = {
      kind: 'requestable',
      offer: { endpoint: 'https://ars.test/requests', expiresAt: '2999-01-01T00:00:00Z' },
    };
    await step(taskId, { status: { kind: 'granted', approval: anApproval() }, decision: wantsMore });
    // The next request is recorded before any client learns of it.
    const recorded = await everything(taskId);
    expect([await callback(first), await callback(first, 'denied')]).toEqual([204, 204]);
    expect(await everything(taskId)).toEqual(recorded);
    await step(taskId, { handle: handle(second) });
    const submitted = await everything(taskId);
    expect(submitted).not.toEqual(recorded);
    for (const claimed of ['approved', 'denied', 'cancelled']) expect(await callback(first, claimed)).toBe(204);
    expect(await everything(taskId)).toEqual(submitted);
    expect(await callback(second)).toBe(204);
    expect(await everything(taskId)).not.toEqual(submitted);
    expect(await signals(taskId)).toBe(1);
    expect((await get(taskId)).result).toMatchObject({ status: 'working' });
  });

  it('after the deadline has no effect [AT-4]', async () => {
    const taskId = taskIdOf(await call({ n: 2, callback: true }));
    const { gatedCallId } = await gatedCallOf(taskId);
    const { handle: known } = await fixture.lifecycle.load(gatedCallId);
    const past = 'UPDATE gateway.gated_call SET request_deadline = clock_timestamp() WHERE id = $1';
    await real.database.pool.query(past, [gatedCallId]);
    expect((await get(taskId)).result).toMatchObject({ status: 'completed' });
    const before = await everything(taskId);
    expect(await callback(known?.accessRequestId ?? '')).toBe(204);
    expect(await everything(taskId)).toEqual(before);
  });

  const signals = async (taskId: string) => {
    const { gatedCallId } = await gatedCallOf(taskId);
    const text = `SELECT count(*)::int AS n FROM gateway.outbox WHERE kind = 'signal_workflow' AND subject_id = $1`;
    return (await real.database.pool.query<{ n: number }>(text, [gatedCallId])).rows[0]?.n;
  };
});

const AT_ONCE = times(50, 200);
it(`${AT_ONCE} identical calls at once are one task and one request for each principal, invisible to the other`, async () => {
  const tokenOf = (sub: string) => real.authority.token({ aud: real.mcpUrl, sub });
  const [alice, bob] = [await tokenOf('alice'), await tokenOf('bob')];
  const args = { at: 'once' };
  // A caller that joins a call on a slow or stopped machine is told to repeat it.
  const idFor = async (token: string) => taskIdOf(await repeatWhile(isForLater, () => call(args, token)));
  const ids = await Promise.all(Array.from({ length: AT_ONCE }, (_, index) => idFor(index % 2 === 0 ? alice : bob)));
  expect(new Set(ids).size).toBe(2);
  const of = (parity: number) => new Set(ids.filter((_, index) => index % 2 === parity));
  expect([of(0).size, of(1).size]).toEqual([1, 1]);
  expect(new Set(keys()).size).toBe(2);
  expect(keys()).toHaveLength(2);
  const foreign = await real.send('tasks/get', { taskId: ids[1] }, alice);
  expect(foreign.body.error).toEqual(NOT_FOUND);
});

it('a task that is read during its deletion is shown whole, or not at all', async () => {
  const caller: Principal = { issuer: real.authority.url, subject: 'alice', clientId: 'agent-7' };
  const executed = async () => {
    const held = await fixture.granted(anOpening({ caller }));
    const [claimId, invocationId] = [randomUUID(), randomUUID()];
    await fixture.claim(held.gatedCallId, claimId);
    await fixture.lifecycle.beginInvocation({ ...held, claimId, invocationId, upstreamKey: randomUUID() });
    const text = JSON.stringify({ content: [{ type: 'text', text: held.taskId }] });
    const of = { gatedCallId: held.gatedCallId, invocationId, cause: 'result' } as const;
    await fixture.lifecycle.settleResult(of, { isError: false, text });
    return held;
  };
  const token = await real.authority.token({ aud: real.mcpUrl });
  let whole = 0;
  const look = async (taskId: string) => {
    for (;;) {
      const { body } = await real.send('tasks/get', { taskId }, token);
      if (body.error !== undefined) return expect(body.error).toEqual(NOT_FOUND);
      expect(body.result).toMatchObject({
        ...{ status: 'completed', taskId, _meta: { 'dev.countersign/outcome-ref': expect.any(String) } },
        result: { content: [{ text: taskId }, { text: expect.any(String) }] },
      });
      whole += 1;
    }
  };
  for (let round = 0; round < times(4, 15); round += 1) {
    const { taskId, gatedCallId } = await executed();
    const seen = whole;
    let isOver = false;
    const lookers = Promise.all([1, 2, 3, 4].map(() => look(taskId))).finally(() => (isOver = true));
    await waitFor(() => whole >= seen + 4, { everyMs: 1 });
    const ends = `UPDATE gateway.gated_call SET retain_until = clock_timestamp(), execution_deadline = last_updated_at
      WHERE id = $1`;
    await real.database.pool.query(ends, [gatedCallId]);
    // The gateway's own sweeper may delete it.
    while (!isOver && (await createDueCalls(real.database.pool).forget(1)) === 0);
    await lookers;
  }
});
