import { afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { checkWorkflows } from '../../apps/cli/commands/doctor/examine.ts';
import { packagePath } from '../../apps/shared/config/files.ts';
import { callAt, goOn, STAGES } from '../support/engine-stages.ts';
import type { WorldCall } from '../support/engine-world.ts';
import { startEngine, type Engine } from '../support/engine.ts';
import { inParallel, times } from '../support/regime.ts';
import { testTemporal } from '../support/temporal.ts';
import { waitFor } from '../support/wait-for.ts';

let engine!: Engine;
let address!: string;
beforeAll(async () => {
  ({ address } = await testTemporal());
});
beforeEach(async () => {
  engine = await startEngine({ address, world: { executionTimeoutMs: 240_000, firstPollMs: 500 } });
});
afterEach(() => engine.stop());
const signalEach = async (calls: readonly WorldCall[]) => {
  for (const { gatedCallId } of calls) await engine.workflows.signal(gatedCallId);
};

/**
 * A worker without a cache moves its calls on one after the other. With several tasks in hand it leaves most of them unanswered, and the
 * engine gives each out again after ten seconds, then less and less often. The product's worker always has a cache.
 */
it.each([
  [0, times(10, 100), 1],
  [3, times(30, 100), times(1, 100)],
])(
  'a worker that keeps %i workflows in memory executes %i waiting calls, %i at the same time, each once',
  async (maxCachedWorkflows, count, atOnce) => {
    const { world } = engine;
    await engine.startWorker({ maxCachedWorkflows });
    const calls: WorldCall[] = [];
    await inParallel(count, atOnce, async () => void calls.push(await callAt('awaits its resolution', engine)));
    goOn(engine, calls);
    await inParallel(count, atOnce, async (index) => {
      const next = calls.slice(index, index + 1);
      await signalEach(next);
      for (const call of next) expect(await world.ended(call, 400_000)).toBe('executed');
    });
    expect(calls.map((call) => world.arrivalsOf(call))).toEqual(calls.map(() => 1));
  },
  1_500_000,
);

it('workflow code that does not fit, deployed and rolled back, delays calls; a workflow that it began is reported', async () => {
  const { world } = engine;
  const workflowsPath = packagePath('test', 'fixtures', 'engine', 'incompatible.workflow.ts');
  const bundle = await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('WARN') });
  const right = await engine.startWorker();
  // A tool that is still running when its worker stops is another matter; so this test leaves that stage out.
  const stages = STAGES.filter((stage) => !stage.startsWith('is ') && !stage.startsWith('has '));
  const calls = await Promise.all(stages.map((stage) => callAt(stage, engine)));
  await right.stop();
  const wrong = await engine.startWorker({ bundle, maxCachedWorkflows: 0 });
  const begun = await world.hold();
  await signalEach([...calls, begun]);
  // The wrong code fails on workflows that have taken a step before, and leaves its own history to the right code.
  await waitFor(
    async () => {
      const failed = await Promise.all(calls.slice(1).map((call) => has(call, 'workflowTaskFailedEventAttributes')));
      return failed.every(Boolean) && (await has(begun, 'timerStartedEventAttributes'));
    },
    { timeoutMs: 180_000 },
  );
  await wrong.stop();
  goOn(engine, [...calls, begun]);
  await engine.startWorker();
  await engine.startMaintenance();
  await signalEach(calls);
  expect(await Promise.all(calls.map((call) => world.ended(call, 240_000)))).toEqual(calls.map(() => 'executed'));

  // A workflow that began with the wrong code cannot go on with the right one. A worker says so, and leaves it as it
  // is.
  const { runId } = await engine.handle(begun).describe();
  await waitFor(
    async () => {
      // As if a minute passed, and another one: each signal puts the next poll off, and restarts the count of attempts.
      const { raw } = await engine.handle(begun).describe();
      const poll = 'UPDATE gateway.gated_call SET poll_at = clock_timestamp() WHERE id = $1';
      if ((raw.pendingWorkflowTask?.attempt ?? 0) >= 4) await engine.db.pool.query(poll, [begun.gatedCallId]);
      return engine.alarms.some(
        ({ alarm, gatedCall }) => alarm === 'workflow_stuck' && gatedCall === begun.gatedCallId,
      );
    },
    { timeoutMs: 300_000, everyMs: 500 },
  );
  const temporal = { namespace: 'default', tls: false, address, taskQueue: engine.taskQueue };
  expect(await checkWorkflows({ temporal, timeLimitFactor: 1 }, address)).toMatchObject({
    ...{ name: 'workflows', status: 'fail' },
    message: expect.stringContaining(engine.handle(begun).workflowId),
    advice: expect.stringContaining('temporal workflow terminate'),
  });
  expect(await engine.handle(begun).describe()).toMatchObject({ runId, status: { name: 'RUNNING' } });
  expect(await world.stateOf(begun)).toBe('pending');

  // The command that the alarm tells an operator to run.
  await engine.handle(begun).terminate('stuck');
  expect(await world.ended(begun, 240_000)).toBe('executed');
  expect(await engine.closed(begun)).toBe('COMPLETED');
  expect(await checkWorkflows({ temporal, timeLimitFactor: 1 }, address)).toMatchObject({ status: 'ok' });
  expect([...calls, begun].map((call) => world.arrivalsOf(call))).toEqual([1, 1, 1, 1]);

  async function has(call: WorldCall, attributes: 'workflowTaskFailedEventAttributes' | 'timerStartedEventAttributes') {
    const { events } = await engine.handle(call).fetchHistory();
    return (events ?? []).some((event) => event[attributes]);
  }
}, 600_000);
