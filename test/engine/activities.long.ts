import { describe, expect, it } from '@jest/globals';
import type { WorldCall } from '../support/engine-world.ts';
import { callAt, type Stage } from '../support/engine-stages.ts';
import type { Engine } from '../support/engine.ts';
import { engineForOperators, giveTenAttempts, runningStep } from '../support/operators.ts';
import { patiently, waitFor } from '../support/wait-for.ts';

let engine!: Engine;
engineForOperators((started) => (engine = started));

const service = () => engine.client.workflowService;
/** The number of tool answers that have not reached the worker so far. */
const lost = () => engine.world.evidence().faults?.length ?? 0;

type Step = Awaited<ReturnType<typeof runningStep>>;
/**
 * A call at the stage, after an operator did this to its step and gave it ten attempts. The engine gives up a step that
 * is silent for ten seconds: if the machine stood still for so long, the test takes another call.
 */
const operated = (stage: Stage, operate: (step: Step) => Promise<unknown>) =>
  patiently(async () => {
    const call = await callAt(stage, engine);
    const at = await runningStep(engine, call);
    await giveTenAttempts(engine, at);
    await operate(at);
    return { call, at };
  });
const paused = (at: Step) => service().pauseActivity({ ...at, reason: 'test' });

describe('the invocation of a tool', () => {
  it('that is reset, paused, resumed and given ten attempts by an operator sends nothing twice', async () => {
    const { call } = await operated('is sent and has no answer', async (at) => {
      await service().resetActivity({ ...at, resetHeartbeat: true });
      await service().pauseActivity({ ...at, reason: 'test' });
      await service().unpauseActivity({ ...at, resetAttempts: true });
    });
    engine.world.say(call, { result: new Error('the worker does not know what became of it') });
    const before = lost();
    engine.world.releaseAll();
    await waitFor(() => lost() > before);
    await engine.world.fixture.endExecution(call);
    expect(await engine.world.ended(call)).toBe('outcome_unknown');
    expect(await engine.closed(call)).toBe('COMPLETED');
    expect(engine.world.arrivalsOf(call)).toBe(1);
  });

  it('that is paused before it has the permit and never resumed: the call ends as not sent, and so does its workflow', async () => {
    const { call } = await operated('is claimed and has no permit', paused);
    await engine.world.fixture.endExecution(call);
    await waitFor(async () => (await engine.world.stateOf(call)) === 'execution_error');
    engine.world.releaseAll();
    expect(await engine.closed(call)).toBe('COMPLETED');
    expect(engine.world.arrivalsOf(call)).toBe(0);
  });

  it('that an operator reports as done or as failed is judged by its row', async () => {
    const calls = await Promise.all([1, 2].map(() => callAt('is sent and has no answer', engine)));
    const [done, failed] = await Promise.all(calls.map(byId));
    const { endExecution } = engine.world.fixture;
    const timers = await Promise.all(calls.map(timersOf));
    // Their workflows wait for this; the results may still come later.
    await Promise.all(calls.map((call) => endExecution(call, 20_000)));
    await service().respondActivityTaskCompletedById({ ...done });
    await service().respondActivityTaskFailedById({ ...failed });
    for (const [index, call] of calls.entries()) {
      await waitFor(async () => (await timersOf(call)) > (timers[index] ?? 0));
    }
    await Promise.all(calls.map((call) => endExecution(call, 600_000)));
    engine.world.releaseAll();
    const ends = await Promise.all(calls.map((call) => engine.world.ended(call)));
    expect(ends).toEqual(['executed', 'executed']);
    expect(await Promise.all(calls.map((call) => engine.closed(call)))).toEqual(['COMPLETED', 'COMPLETED']);
    expect(calls.map((call) => engine.world.arrivalsOf(call))).toEqual([1, 1]);
  });
  const timersOf = async (call: WorldCall) => {
    const { events } = await engine.handle(call).fetchHistory();
    return (events ?? []).filter((event) => event.timerStartedEventAttributes).length;
  };
  const byId = async (call: WorldCall) => {
    const { namespace, execution, id: activityId } = await runningStep(engine, call);
    return { namespace, ...execution, activityId };
  };

  it('that fails while an operator has it paused: the call ends at its deadline, its workflow as soon as it is resumed', async () => {
    const { call, at } = await operated('is sent and has no answer', paused);
    engine.world.say(call, { result: new Error('the worker does not know what became of it') });
    const before = lost();
    engine.world.releaseAll();
    await waitFor(() => lost() > before);
    await engine.world.fixture.endExecution(call);
    // The engine keeps a paused step, beyond every time limit of the step too.
    expect(await engine.world.ended(call)).toBe('outcome_unknown');
    await service().unpauseActivity(at);
    expect(await engine.closed(call)).toBe('COMPLETED');
    expect(engine.world.arrivalsOf(call)).toBe(1);
  });
});
