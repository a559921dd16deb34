import { describe, expect, it } from '@jest/globals';
import { MockActivityEnvironment } from '@temporalio/testing';
import { randomUUID } from 'node:crypto';
import type { InvocationResult } from '../../workflows/domain/upstream-ports.ts';
import { toolFacts } from '../../workflows/domain/tools/tool-facts.ts';
import { ownCalls } from '../support/own-calls.ts';
import { stepsIn, TOOL, type World } from '../support/steps.ts';
import { waitFor } from '../support/wait-for.ts';
import { systemTime } from '../support/time.ts';

describe('invoking the tool', () => {
  const own = ownCalls();
  const steps = (world: World) => stepsIn(world, own.fixture.lifecycle);
  const stateOf = async (gatedCallId: string) => (await own.fixture.lifecycle.progress(gatedCallId)).state;

  const claimedCall = async () => {
    const call = await own.fixture.granted();
    expect(await steps({}).toTheClaim(call)).toMatchObject({ kind: 'claimed' });
    return call;
  };
  const run = (step: ReturnType<typeof steps>, call: { gatedCallId: string }) =>
    new MockActivityEnvironment().run(step.invokeTool, call);

  it('sends the bound arguments once, however often the step runs [APPR-211]', async () => {
    const call = await claimedCall();
    const step = steps({});
    await Promise.all([run(step, call), run(step, call), run(step, call)]);
    await run(step, call);
    expect(step.sent).toHaveLength(1);
    const { binding, state } = await own.fixture.lifecycle.load(call.gatedCallId);
    expect(step.sent[0]).toMatchObject({
      upstream: 'files',
      upstreamTool: 'write_file',
      toolDigest: binding.toolDigest,
      arguments: JSON.parse(binding.arguments),
      caller: binding.caller,
    });
    expect(state).toBe('executed');
  });

  it('sends the key of its permit in the message and in the request header, and sends no trace [OTEL-004]', async () => {
    const call = await claimedCall();
    const step = steps({});
    await run(step, call);
    const upstreamKey = (await own.fixture.lifecycle.progress(call.gatedCallId)).invocation?.upstreamKey;
    expect(upstreamKey).toMatch(/^[\w-]{22}$/);
    expect(step.sent).toEqual([
      expect.objectContaining({
        meta: { 'dev.countersign/idempotency-key': upstreamKey },
        idempotencyKey: upstreamKey,
      }),
    ]);
  });

  it.each([
    ['the tool says it failed', { kind: 'result', isError: true, result: { content: [] } }, 'execution_error'],
    ['the upstream answers with a protocol error', { kind: 'error', code: -32602, message: 'no' }, 'execution_error'],
    ['nothing was sent', { kind: 'not_sent', cause: 'refused' }, 'execution_error'],
    ['no answer came', { kind: 'no_answer', cause: 'reset' }, 'claimed'],
  ] as [string, InvocationResult, string][])('when %s, the call is left as %s', async (_, invocation, state) => {
    const call = await claimedCall();
    const step = steps({ invocation });
    await run(step, call);
    expect(await stateOf(call.gatedCallId)).toBe(state);
    const settled = await step.settle(call);
    expect(settled.kind).toBe(state === 'claimed' ? 'retry' : 'ended');
  });

  it('never resends a call whose answer was lost, even for a tool declared idempotent [HINT-011]', async () => {
    const call = await claimedCall();
    const tool = { ...TOOL, facts: toolFacts({}, { idempotent: true }) };
    const step = steps({ tool, invocation: { kind: 'no_answer', cause: 'reset' } });
    await run(step, call);
    expect((await step.settle(call)).kind).toBe('retry');
    await run(step, call);
    expect(step.sent).toHaveLength(1);
  });

  it('sends nothing for a call that is not claimed', async () => {
    const call = await own.fixture.granted();
    const step = steps({});
    await run(step, call);
    expect(step.sent).toHaveLength(0);
  });

  it('sends nothing when the answer to its permit comes after the deadline', async () => {
    const { lifecycle, granted, claim } = own.fixture;
    const call = await granted();
    expect(await claim(call.gatedCallId, randomUUID())).toBe('won');
    const beginInvocation: typeof lifecycle.beginInvocation = async (permit) => {
      const given = await lifecycle.beginInvocation(permit);
      await waitFor(async () => (await lifecycle.load(call.gatedCallId)).remainingMs <= 0);
      return given;
    };
    const step = steps({ store: { beginInvocation }, executionTimeoutMs: 100 });
    await run(step, call);
    expect(step.sent).toHaveLength(0);
  });

  it.each([
    ['the end of its window to be sent', 3_600_000, systemTime.limits.sendWindowMs],
    ['its execution deadline', 900, 900],
  ])('may be sent until %s at most', async (_, executionTimeoutMs, windowMs) => {
    const call = await claimedCall();
    const step = steps({ executionTimeoutMs });
    const began = performance.now();
    await run(step, call);
    const [sendBy = Infinity] = step.sendBys;
    expect(sendBy).toBeGreaterThan(began);
    expect(sendBy).toBeLessThanOrEqual(performance.now() + windowMs);
  });

  it('has its whole time from the permit on, however long its claim waited', async () => {
    const call = await own.fixture.claimed(2_000);
    await run(steps({ invocation: { kind: 'no_answer', cause: 'reset' } }), call);
    expect((await own.fixture.lifecycle.progress(call.gatedCallId)).remainingMs).toBeGreaterThan(500_000);
  });
});

describe('a claimed call whose step died before the permit', () => {
  const own = ownCalls();
  const steps = (world: World) => stepsIn(world, own.fixture.lifecycle);
  const run = (step: ReturnType<typeof steps>, call: { gatedCallId: string }) =>
    new MockActivityEnvironment().run(step.invokeTool, call);
  const progress = ({ gatedCallId }: { gatedCallId: string }) => own.fixture.lifecycle.progress(gatedCallId);
  const permitOf = (call: { gatedCallId: string; claimId: string }) =>
    own.fixture.lifecycle.beginInvocation({ ...call, invocationId: randomUUID(), upstreamKey: randomUUID() });
  const causesOf = async ({ gatedCallId }: { gatedCallId: string }) => {
    const text = 'SELECT to_state, cause FROM gateway.call_event WHERE gated_call_id = $1 ORDER BY seq';
    const { rows } = await own.db.pool.query<{ to_state: string; cause: string }>(text, [gatedCallId]);
    return rows.map(({ to_state, cause }) => `${to_state} (${cause})`);
  };

  it('is decided and claimed anew, and runs once', async () => {
    const call = await own.fixture.claimed();
    const step = steps({});
    expect(await step.settle(call)).toMatchObject({ kind: 'released' });
    expect(await progress(call)).toMatchObject({ state: 'granted', claimId: undefined });
    const found = await step.toTheClaim(call);
    expect(found.kind === 'claimed' && found.claimId).not.toBe(call.claimId);
    await run(step, call);
    expect(await step.settle(call)).toEqual({ kind: 'ended' });
    expect(step.sent).toHaveLength(1);
    expect((await causesOf(call)).slice(-4)).toEqual([
      'claimed (claim)',
      'granted (not_sent)',
      'claimed (claim)',
      'executed (result)',
    ]);
  });

  it('is decided anew when the expire job carries out the deadline of its claim, while its approval holds', async () => {
    const call = await own.fixture.claimed();
    await own.fixture.endExecution(call);
    expect(await own.fixture.lifecycle.expire(call.gatedCallId)).toBe('granted');
    expect(await steps({}).settle(call)).toMatchObject({ kind: 'released' });
    expect(await steps({}).toTheClaim(call)).toMatchObject({ kind: 'claimed' });
  });

  it('is denied anew where policy allows it no more, and can be cancelled', async () => {
    const [denied, cancelled] = [await own.fixture.claimed(), await own.fixture.claimed()];
    for (const call of [denied, cancelled]) expect(await steps({}).settle(call)).toMatchObject({ kind: 'released' });
    expect(await steps({ decision: { kind: 'deny' } }).toTheClaim(denied)).toEqual({ kind: 'ended' });
    expect(await progress(denied)).toMatchObject({ state: 'denied' });
    expect(await own.fixture.calls.cancel(cancelled.gatedCallId)).toBe('cancelled');
  });

  it('gets no permit for its earlier claim, also not after it was claimed anew', async () => {
    const call = await own.fixture.claimed();
    await steps({}).settle(call);
    expect(await permitOf(call)).toBe(false);
    expect(await steps({}).toTheClaim(call)).toMatchObject({ kind: 'claimed' });
    expect(await permitOf(call)).toBe(false);
    expect((await progress(call)).invocation).toBeUndefined();
  });

  it('keeps its claim once the permit was given', async () => {
    const call = await own.fixture.claimed();
    expect(await permitOf(call)).toBe(true);
    expect(await own.fixture.lifecycle.releaseClaim(call)).toBe(0);
    const release = 'UPDATE gateway.execution_claim SET released_at = now() WHERE claim_id = $1';
    await expect(own.db.pool.query(release, [call.claimId])).rejects.toMatchObject({ code: 'CS001' });
  });

  it('either gets its permit or is given up, when both come at once, 100 times', async () => {
    await Promise.all(
      Array.from({ length: 100 }, async () => {
        const call = await own.fixture.claimed();
        const [permitted, released] = await Promise.all([permitOf(call), own.fixture.lifecycle.releaseClaim(call)]);
        expect(permitted).toBe(released === 0);
        expect((await progress(call)).state).toBe(permitted ? 'claimed' : 'granted');
      }),
    );
  });

  it('waits longer each time before it is decided anew', async () => {
    const call = await own.fixture.granted();
    const waits: number[] = [];
    for (let time = 0; time < 7; time += 1) {
      await steps({}).toTheClaim(call);
      const found = await steps({}).settle({ gatedCallId: call.gatedCallId });
      waits.push(found.kind === 'released' ? found.waitMs : Number.NaN);
    }
    expect(waits[0]).toBeLessThanOrEqual(1_000);
    expect(waits.at(-1)).toBeGreaterThan(40_000);
  });
});
