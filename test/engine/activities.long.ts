import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { WorldCall } from '../support/engine-world.ts';
import { callAt } from '../support/engine-stages.ts';
import { startEngine, type Engine } from '../support/engine.ts';
import { testTemporal } from '../support/temporal.ts';
import { waitFor } from '../support/wait-for.ts';

const NAMESPACE = 'default';

let engine!: Engine;
beforeAll(async () => {
  const { address } = await testTemporal();
  engine = await startEngine({ address, world: { executionTimeoutMs: 8_000 } });
  await engine.startWorker();
}, 180_000);
afterAll(() => engine?.stop());
let maintenance: Awaited<ReturnType<Engine['startMaintenance']>>;
beforeEach(async () => {
  maintenance = await engine.startMaintenance();
});
afterEach(() => maintenance.stop());

const service = () => engine.client.workflowService;
const executionOf = async (call: WorldCall) => {
  const { workflowId, runId } = await engine.handle(call).describe();
  return { workflowId, runId };
};
describe('the invocation of a tool', () => {
  const activity = async (call: WorldCall) => {
    const { pendingActivities } = await engine
      .handle(call)
      .describe()
      .then(({ raw }) => raw);
    return { id: pendingActivities?.[0]?.activityId ?? '', execution: await executionOf(call) };
  };
  const running = async (call: WorldCall) => {
    const { id, execution } = await activity(call);
    return { namespace: NAMESPACE, execution, identity: 'operator', id };
  };

  it('that is reset, paused, resumed and given ten attempts by an operator sends nothing twice', async () => {
    const call = await callAt('is sent and has no answer', engine);
    const at = await running(call);
    await service().updateActivityOptions({
      ...at,
      activityOptions: { retryPolicy: { maximumAttempts: 10 } },
      updateMask: { paths: ['retry_policy.maximum_attempts'] },
    });
    await service().resetActivity({ ...at, resetHeartbeat: true });
    await service().pauseActivity({ ...at, reason: 'test' });
    await service().unpauseActivity({ ...at, resetAttempts: true });
    engine.world.say(call, { result: new Error('the worker does not know what became of it') });
    engine.world.releaseAll();
    expect(await engine.world.ended(call)).toBe('outcome_unknown');
    expect(await engine.closed(call)).toBe('COMPLETED');
    expect(engine.world.arrivalsOf(call)).toBe(1);
  }, 60_000);

  it('that is paused before it has the permit and never resumed: the call ends as not sent, and so does its workflow', async () => {
    const call = await callAt('is claimed and has no permit', engine);
    const at = await running(call);
    await service().updateActivityOptions({
      ...at,
      activityOptions: { retryPolicy: { maximumAttempts: 10 } },
      updateMask: { paths: ['retry_policy.maximum_attempts'] },
    });
    await service().pauseActivity({ ...at, reason: 'test' });
    await waitFor(async () => (await engine.world.stateOf(call)) === 'execution_error');
    engine.world.releaseAll();
    expect(await engine.closed(call)).toBe('COMPLETED');
    expect(engine.world.arrivalsOf(call)).toBe(0);
  }, 120_000);

  it('that an operator reports as done or as failed is judged by its row', async () => {
    const calls = await Promise.all([1, 2].map(() => callAt('is sent and has no answer', engine)));
    const [done, failed] = await Promise.all(calls.map(activity));
    await service().respondActivityTaskCompletedById({ namespace: NAMESPACE, ...byId(done) });
    await service().respondActivityTaskFailedById({ namespace: NAMESPACE, ...byId(failed) });
    engine.world.releaseAll();
    const ends = await Promise.all(calls.map((call) => engine.world.ended(call)));
    expect(ends).toEqual(['executed', 'executed']);
    expect(await Promise.all(calls.map((call) => engine.closed(call)))).toEqual(['COMPLETED', 'COMPLETED']);
    expect(calls.map((call) => engine.world.arrivalsOf(call))).toEqual([1, 1]);
  }, 60_000);
  const byId = (of: Awaited<ReturnType<typeof activity>> | undefined) => ({
    ...{ workflowId: of?.execution.workflowId ?? '', runId: of?.execution.runId ?? '', activityId: of?.id ?? '' },
  });
});
