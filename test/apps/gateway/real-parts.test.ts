import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { gatedCallFixture } from '../../support/gated-calls.ts';
import { isForLater, type Sent } from '../../support/gateway-wire.ts';
import { startRealGateway } from '../../support/real-gateway.ts';
import { waitFor, repeatWhile } from '../../support/wait-for.ts';

let real: Awaited<ReturnType<typeof startRealGateway>>;
beforeAll(async () => {
  real = await startRealGateway({ maxOpenPerCaller: 3, maxSubmissionsPerMinute: 1_000 });
});
afterAll(() => real.stop());
beforeEach(async () => {
  await real.database.pool.query(
    'UPDATE gateway.gated_call SET subject_key = id::text, owner_key = id::text WHERE ended_at IS NULL',
  );
  real.reset();
});

const send = (method: string, params: Record<string, unknown>, token?: string) => real.send(method, params, token);
const tokenOf = (claims: object = {}, forged = false) => real.authority.token({ aud: real.mcpUrl, ...claims }, forged);
const call = (args: Record<string, unknown>, token?: string) =>
  send('tools/call', { name: 'files__pid', arguments: args }, token);
const taskIdOf = ({ body }: Sent) => body.result?.['taskId'] as string;

describe('access tokens', () => {
  const now = Math.floor(Date.now() / 1_000);
  it.each([
    ['have expired', { exp: now - 3_600 }, false],
    ['are for another audience', { aud: 'http://other.test/mcp' }, false],
    ['are of another issuer', { iss: 'http://other.test' }, false],
    ['are signed with another key', {}, true],
    ['have no subject', { sub: '' }, false],
  ])('that %s are refused [AUTHZ-002]', async (_case, claims, forged) => {
    const { status } = await call({}, await tokenOf(claims, forged));
    expect(status).toBe(401);
    expect(real.authority.seen.filter(({ path }) => path.startsWith('/access'))).toEqual([]);
  });
});

describe('an allowed call', () => {
  it('reaches the tool', async () => {
    real.authority.decide = () => ({ decision: true });
    expect((await call({ n: 1 })).body.result).toMatchObject({
      content: [{ type: 'text', text: expect.stringMatching(/^\d+$/) }],
    });
  });
});

describe('a call that needs an approval', () => {
  it('is one task and one submission, even for many simultaneous identical calls [TASK-110, AUTHZ-004]', async () => {
    // A caller that joins a call while the machine stands still is told to repeat it.
    const answers = await Promise.all(Array.from({ length: 8 }, () => repeatWhile(isForLater, () => call({ n: 2 }))));
    const ids = new Set(answers.map(taskIdOf));
    expect(ids.size).toBe(1);
    expect([...ids][0]).toMatch(/^tsk_[0-9a-f]{32}$/);
    const [submission, ...more] = real.authority.submissions();
    expect(more).toEqual([]);
    expect(submission?.headers).toMatchObject({ authorization: 'Bearer ars-token-of-the-gateway' });
    expect(submission?.headers['idempotency-key']).toMatch(/^[\w-]{43}$/);
    expect(JSON.parse(submission?.body ?? '')).toMatchObject({
      context: { arguments: { n: 2 }, agent: 'agent-7' },
      denial: { binding_token: 'canary-token', evaluation_id: 'canary-evaluation' },
    });
  });

  it('can be read and cancelled at once by its owner, and by no other caller [TASK-020, TASK-033, TASK-111]', async () => {
    const taskId = taskIdOf(await call({ n: 3 }));
    expect((await send('tasks/get', { taskId })).body.result).toMatchObject({ status: 'working', taskId });
    for (const claims of [{ sub: 'mallory' }, { client_id: 'agent-8' }]) {
      const foreign = await tokenOf(claims);
      for (const method of ['tasks/get', 'tasks/cancel', 'tasks/update']) {
        expect((await send(method, { taskId }, foreign)).body.error?.code).toBe(-32_602);
      }
    }
    expect((await send('tasks/get', { taskId })).body.result).toMatchObject({ status: 'working' });
    expect((await send('tasks/cancel', { taskId })).body.result).toMatchObject({ resultType: 'complete' });
    expect((await send('tasks/get', { taskId })).body.result).toMatchObject({
      status: 'cancelled',
      _meta: { 'dev.countersign/outcome-ref': expect.any(String) },
    });
    expect(taskIdOf(await call({ n: 3 }))).not.toBe(taskId);
  });

  it('is not opened beyond the limit', async () => {
    for (const n of [10, 11, 12]) expect(taskIdOf(await call({ n }))).toBeDefined();
    const { result } = (await call({ n: 13 })).body;
    expect(result).toMatchObject({ isError: true });
    expect(real.authority.submissions()).toHaveLength(3);
  });

  it('waits for a service that does not answer, and continues under the same key', async () => {
    const accept = real.authority.accept;
    real.authority.accept = () => ({ status: 503, body: {} });
    expect((await call({ n: 20 })).body.error).toMatchObject({ code: -32_603 });
    real.authority.accept = accept;
    expect(taskIdOf(await call({ n: 20 }))).toBeDefined();
    const keys = real.authority
      .submissions()
      .map(({ headers, body }) => `${headers['idempotency-key'] as string} ${body}`);
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(1);
  });

  it('is denied when the service refuses it', async () => {
    real.authority.accept = () => ({ status: 400, body: { type: 'about:blank' } });
    const { result } = (await call({ n: 21 })).body;
    expect(result).toMatchObject({ isError: true });
    expect(result).not.toHaveProperty('taskId');
  });
});

describe('a gateway without any worker', () => {
  it('carries out every deadline, also of tasks that no client reads', async () => {
    const { pool } = real.database;
    const fixture = gatedCallFixture(pool);
    const { gatedCallId: preparing } = await fixture.opened();
    const { gatedCallId: pending } = await fixture.pending();
    const { gatedCallId: granted } = await fixture.granted();
    const { gatedCallId: unsent } = await fixture.claimed();
    const sent = await fixture.claimed();
    const permit = { invocationId: randomUUID(), upstreamKey: randomUUID() };
    expect(await fixture.lifecycle.beginInvocation({ ...sent, ...permit })).toBe(true);
    const over =
      'request_deadline = clock_timestamp(), approval_expires_at = least(approval_expires_at, clock_timestamp())';
    await pool.query(`UPDATE gateway.gated_call SET ${over} WHERE id = ANY ($1)`, [
      [preparing, pending, granted, unsent],
    ]);
    for (const gatedCallId of [unsent, sent.gatedCallId]) await fixture.endExecution({ gatedCallId });
    const ends = {
      [preparing]: 'denied',
      [pending]: 'denied',
      [granted]: 'denied',
      [unsent]: 'denied',
      [sent.gatedCallId]: 'outcome_unknown',
    };
    const text = 'SELECT id, state FROM gateway.gated_call WHERE id = ANY ($1) AND ended_at IS NOT NULL';
    const ended = await waitFor(async () => {
      const { rows } = await pool.query<{ id: string; state: string }>(text, [Object.keys(ends)]);
      return rows.length === Object.keys(ends).length && Object.fromEntries(rows.map(({ id, state }) => [id, state]));
    });
    expect(ended).toEqual(ends);
  });
});

describe('the messages to a client', () => {
  it('contain no member of the authority side [APPR-215]', () => {
    expect(real.received.length).toBeGreaterThan(20);
    expect(real.received.join('\n')).not.toMatch(/canary|binding_token|evaluation_id|access\/v1|\.[jt]s:\d+/);
  });
});
