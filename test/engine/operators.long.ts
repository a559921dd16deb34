import { describe, expect, it } from '@jest/globals';
import type { WorldCall } from '../support/engine-world.ts';
import { callAt, goOn, STAGES } from '../support/engine-stages.ts';
import { statusOf, type Engine } from '../support/engine.ts';
import { anApproval } from '../support/gated-calls.ts';
import { engineForOperators, executionOf } from '../support/operators.ts';
import { waitFor } from '../support/wait-for.ts';

const NAMESPACE = 'default';

let engine!: Engine;
engineForOperators((started) => (engine = started));

const service = () => engine.client.workflowService;
const OPERATIONS: Record<string, (call: WorldCall) => Promise<unknown>> = {
  'is reset to its first task': async (call) => {
    const { events } = await engine.handle(call).fetchHistory();
    const task = events?.find((event) => event.workflowTaskCompletedEventAttributes);
    const workflowTaskFinishEventId = task?.eventId ?? null;
    // Without a task there is no point to reset to, and the engine refuses; so the test ends the workflow.
    if (workflowTaskFinishEventId === null) return engine.handle(call).terminate('test');
    const workflowExecution = await executionOf(engine, call);
    const reset = { namespace: NAMESPACE, workflowExecution, reason: 'test', workflowTaskFinishEventId };
    return service().resetWorkflowExecution({ ...reset, requestId: crypto.randomUUID() });
  },
  'is terminated': (call) => engine.handle(call).terminate('test'),
  'is deleted': async (call) => {
    const workflowExecution = await executionOf(engine, call);
    await service().deleteWorkflowExecution({ namespace: NAMESPACE, workflowExecution });
  },
  'is cancelled': (call) => engine.handle(call).cancel(),
};

const runIdOf = async (call: WorldCall) =>
  (await statusOf(engine.handle(call))) === 'RUNNING' ? (await executionOf(engine, call)).runId : undefined;

it('a workflow that waits although its call is granted, because its signal was lost, is signalled', async () => {
  const { world } = engine;
  const call = await callAt('waits since its start', engine);
  expect(await world.fixture.lifecycle.grant(call.gatedCallId, 1, anApproval())).toBe('granted');
  world.approve(call);
  expect(await world.ended(call)).toBe('executed');
  expect(world.arrivalsOf(call)).toBe(1);
});

describe.each(Object.entries(OPERATIONS))('a workflow that %s', (operation, operate) => {
  it('at any stage: the call goes on, and is executed once', async () => {
    const calls = await Promise.all(STAGES.map((stage) => callAt(stage, engine)));
    const runs = await Promise.all(calls.map(runIdOf));
    await Promise.all(calls.map(operate));
    if (operation === 'is cancelled') await engine.workflows.signal((calls[0] as WorldCall).gatedCallId);
    else {
      // The last one is over: its result is stored, and only the engine does not know yet.
      for (const [index, call] of calls.slice(0, -1).entries()) {
        await waitFor(async () => ![undefined, runs[index]].includes(await runIdOf(call)));
      }
    }
    goOn(engine, calls);
    const ends = await Promise.all(calls.map((call) => engine.world.ended(call)));
    expect(ends).toEqual(STAGES.map(() => 'executed'));
    await Promise.all(calls.map((call) => engine.closed(call)));
    expect(calls.map((call) => engine.world.arrivalsOf(call))).toEqual(STAGES.map(() => 1));
  });
});
