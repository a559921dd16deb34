import { describe, expect, it } from '@jest/globals';
import { CountersignError } from '../../workflows/domain/errors.ts';
import { anApproval, anOpening } from '../support/gated-calls.ts';
import { ownCalls } from '../support/own-calls.ts';
import { stepsIn, type World } from '../support/steps.ts';
import { waitFor } from '../support/wait-for.ts';

const WANTS_MORE = {
  kind: 'requestable',
  evaluationId: 'eval_2',
  offer: { endpoint: 'https://ars.test/requests', expiresAt: '2999-01-01T00:00:00Z', bindingToken: 'second-token' },
} as const satisfies World['decision'];
const HANDLE = { accessRequestId: 'arq_second', statusEndpoint: 'http://127.0.0.1:1/second' };

describe('a policy that requires another approval', () => {
  const own = ownCalls();

  const steps = (world: World) => stepsIn(world, own.fixture.lifecycle);
  const load = (call: { gatedCallId: string }) => own.fixture.lifecycle.load(call.gatedCallId);
  const submissions = async ({ gatedCallId }: { gatedCallId: string }) =>
    (
      await own.db.pool.query<{ generation: number; idempotency_key: string; access_request_key: string | null }>(
        'SELECT * FROM gateway.submission WHERE gated_call_id = $1 ORDER BY generation',
        [gatedCallId],
      )
    ).rows;

  it('records the next submission under its own key before the service or the workflow hears of it', async () => {
    const call = await own.fixture.granted();
    const before = await load(call);
    const step = steps({ decision: WANTS_MORE });
    expect(await step.toTheClaim(call)).toEqual({ kind: 'next_generation' });
    expect(step.submitted).toEqual([]);
    const after = await load(call);
    expect(after).toMatchObject({ state: 'pending', generation: 2, handle: undefined, approval: undefined });
    expect(after.binding).toEqual(before.binding);
    const [first, second] = await submissions(call);
    expect(second?.idempotency_key).not.toBe(first?.idempotency_key);
    expect(JSON.parse((await own.fixture.lifecycle.readSubmission(call.gatedCallId)).body)).toMatchObject({
      client: { source: { generation: 2 } },
      denial: { binding_token: 'second-token', evaluation_id: 'eval_2' },
    });
  });

  it.each([
    ['was asked for with the same form', 'https://ars.test/a.json', { kind: 'next_generation' }, { reason: null }],
    [
      'needs a value that the caller was never asked for',
      'https://ars.test/b.json',
      { kind: 'ended' },
      { reason: 'input_missing' },
    ],
  ])("reuses the requester's input where it %s", async (_case, requestSchemaUrl, found, row) => {
    const opening = anOpening();
    const input = { schemaUrl: 'https://ars.test/a.json', additions: { context: { why: 'as agreed' } } };
    const call = await own.fixture.granted({ ...opening, binding: { ...opening.binding, input } });
    const decision = {
      ...WANTS_MORE,
      offer: { endpoint: 'https://ars.test/requests', expiresAt: '2999-01-01T00:00:00Z', requestSchemaUrl },
    };
    expect(await steps({ decision }).toTheClaim(call)).toEqual(found);
    const text = 'SELECT reason FROM gateway.gated_call WHERE id = $1';
    expect((await own.db.pool.query(text, [call.gatedCallId])).rows).toEqual([row]);
    const { body } = await own.fixture.lifecycle.readSubmission(call.gatedCallId);
    if (row.reason === null) expect(JSON.parse(body)).toMatchObject({ context: { why: 'as agreed' } });
    else expect(await submissions(call)).toHaveLength(1);
  });

  it('submits the next request in the next step, exactly once, however many steps there are', async () => {
    const call = await own.fixture.granted();
    await steps({ decision: WANTS_MORE }).toTheClaim(call);
    const step = steps({ handle: { ...HANDLE, accessRequestId: `arq_${call.gatedCallId}_2` } });
    await Promise.all([1, 2, 3].map(() => step.toTheClaim(call)));
    expect(step.submitted).toHaveLength(1);
    expect(await load(call)).toMatchObject({ state: 'pending', handle: { statusEndpoint: HANDLE.statusEndpoint } });
  });

  it('submits it again with the same key and bytes when the answer was lost', async () => {
    const call = await own.fixture.granted();
    await steps({ decision: WANTS_MORE }).toTheClaim(call);
    const lost = steps({ handle: new CountersignError('ERR_ACCESS_REQUEST_SERVICE_UNAVAILABLE', 'away') });
    expect(await lost.toTheClaim(call)).toMatchObject({ kind: 'open' });
    const again = steps({ handle: { ...HANDLE, accessRequestId: `arq_${call.gatedCallId}_2` } });
    await again.toTheClaim(call);
    expect(again.submitted.map(({ idempotencyKey, body }) => [idempotencyKey, body])).toEqual(
      lost.submitted.map(({ idempotencyKey, body }) => [idempotencyKey, body]),
    );
  });

  it('goes on with the second approval, and executes the call on a decision of the second generation', async () => {
    const call = await own.fixture.granted();
    await steps({ decision: WANTS_MORE }).toTheClaim(call);
    await steps({ handle: { ...HANDLE, accessRequestId: `arq_${call.gatedCallId}_2` } }).toTheClaim(call);
    const granted: World = { status: { kind: 'granted', approval: anApproval() } };
    expect(await steps(granted).toTheClaim(call)).toMatchObject({ kind: 'claimed' });
    const { rows } = await own.db.pool.query(
      `SELECT c.generation, d.generation AS decided FROM gateway.execution_claim c
       JOIN gateway.decision d ON d.id = c.decision_id WHERE c.gated_call_id = $1`,
      [call.gatedCallId],
    );
    expect(rows).toEqual([{ generation: 2, decided: 2 }]);
  });

  it('ignores the approval and decisions of the previous generation', async () => {
    const call = await own.fixture.granted();
    const allow = await own.fixture.allow(call.gatedCallId);
    await steps({ decision: WANTS_MORE }).toTheClaim(call);
    expect(await own.fixture.lifecycle.grant(call.gatedCallId, 1, anApproval())).toBe('pending');
    await steps({ handle: { ...HANDLE, accessRequestId: `arq_${call.gatedCallId}_2` } }).toTheClaim(call);
    await own.fixture.lifecycle.grant(call.gatedCallId, 2, anApproval());
    const claim = { gatedCallId: call.gatedCallId, epoch: 1, decisionId: allow, claimId: crypto.randomUUID() };
    expect(await own.fixture.lifecycle.claim({ ...claim, generation: 1, executionTimeoutMs: 1_000 })).toBe('lost');
    expect(await own.fixture.lifecycle.claim({ ...claim, generation: 2, executionTimeoutMs: 1_000 })).toBe('stale');
  });

  it('stops asking when a decision of the previous generation ends the call', async () => {
    const call = await own.fixture.granted();
    let goOn: () => void = () => undefined;
    const decided = new Promise<void>((resolve) => (goOn = resolve));
    let isAsked = false;
    const late = steps({
      decision: { kind: 'deny' },
      get decided() {
        isAsked = true;
        return decided;
      },
    });
    const denied = late.toTheClaim(call);
    await waitFor(() => isAsked);
    await steps({ decision: WANTS_MORE }).toTheClaim(call);
    await steps({ handle: { ...HANDLE, accessRequestId: `arq_${call.gatedCallId}_2` } }).toTheClaim(call);
    goOn();
    expect(await denied).toEqual({ kind: 'ended' });
    expect(await load(call)).toMatchObject({ state: 'denied', generation: 2 });
    const text = `SELECT 1 FROM gateway.outbox WHERE subject_id = $1 AND kind = 'cancel_access_request'`;
    expect((await own.db.pool.query(text, [call.gatedCallId])).rows).toHaveLength(1);
  });

  it('ends at the bound', async () => {
    const call = await own.fixture.granted();
    await steps({ decision: WANTS_MORE }).toTheClaim(call);
    await steps({ handle: { ...HANDLE, accessRequestId: `arq_${call.gatedCallId}_2` } }).toTheClaim(call);
    const granted: World = { status: { kind: 'granted', approval: anApproval() }, decision: WANTS_MORE };
    expect(await steps(granted).toTheClaim(call)).toEqual({ kind: 'ended' });
    const { rows } = await own.db.pool.query('SELECT state, reason FROM gateway.gated_call WHERE id = $1', [
      call.gatedCallId,
    ]);
    expect(rows).toEqual([{ state: 'denied', reason: 'chain_limit' }]);
    expect(await submissions(call)).toHaveLength(2);
  });

  it('waits until the deadline of the call again, unless the service sets an earlier one for the second request', async () => {
    const call = await own.fixture.opened();
    const soon = new Date(Date.now() + 60_000).toISOString();
    const first = {
      accessRequestId: `arq_${call.gatedCallId}`,
      statusEndpoint: HANDLE.statusEndpoint,
      expiresAt: soon,
    };
    await own.fixture.lifecycle.attachHandle(call.gatedCallId, 1, first);
    await own.fixture.lifecycle.grant(call.gatedCallId, 1, anApproval());
    await steps({ decision: WANTS_MORE }).toTheClaim(call);
    expect((await load(call)).remainingMs).toBeGreaterThan(3_500_000);
    const second = { ...first, accessRequestId: `arq_${call.gatedCallId}_2` };
    await own.fixture.lifecycle.attachHandle(call.gatedCallId, 2, second);
    expect((await load(call)).remainingMs).toBeLessThanOrEqual(60_000);
  });
});
