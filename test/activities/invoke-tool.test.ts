import { describe, expect, it } from '@jest/globals';
import { MockActivityEnvironment } from '@temporalio/testing';
import { sha256 } from '../../apps/shared/crypto.ts';
import { claimIdOf } from '../../workflows/domain/gated-call/call-binding.ts';
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
    expect(await claim(call.gatedCallId, claimIdOf(call.gatedCallId, 1, sha256), 100)).toBe('won');
    const beginInvocation: typeof lifecycle.beginInvocation = async (permit) => {
      const given = await lifecycle.beginInvocation(permit);
      await waitFor(async () => (await lifecycle.load(call.gatedCallId)).remainingMs <= 0);
      return given;
    };
    const step = steps({ store: { beginInvocation } });
    await run(step, call);
    expect(step.sent).toHaveLength(0);
  });

  it.each([
    ['the end of its window to be sent', 3_600_000, systemTime.limits.sendWindowMs],
    ['its execution deadline', 900, 900],
  ])('may be sent until %s at most', async (_, remainingMs, windowMs) => {
    const call = await claimedCall();
    const load = async (gatedCallId: string) => ({ ...(await own.fixture.lifecycle.load(gatedCallId)), remainingMs });
    const step = steps({ store: { load } });
    const began = performance.now();
    await run(step, call);
    const [sendBy = Infinity] = step.sendBys;
    expect(sendBy).toBeGreaterThan(began);
    expect(sendBy).toBeLessThanOrEqual(performance.now() + windowMs);
  });

  it('may be taken again while it has no permit', async () => {
    const call = await claimedCall();
    expect(await steps({}).settle(call)).toEqual({ kind: 'invoke' });
  });
});
