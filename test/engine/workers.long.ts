import { afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { packagePath } from '../../apps/shared/config/package-root.ts';
import { callAt, goOn, STAGES } from '../support/engine-stages.ts';
import type { WorldCall } from '../support/engine-world.ts';
import { startEngine, type Engine } from '../support/engine.ts';
import { testTemporal } from '../support/temporal.ts';
import { waitFor } from '../support/wait-for.ts';

let engine!: Engine;
let address!: string;
beforeAll(async () => {
  ({ address } = await testTemporal());
}, 180_000);
beforeEach(async () => {
  engine = await startEngine({ address, world: { executionTimeoutMs: 240_000, firstLookMs: 500 } });
}, 60_000);
afterEach(() => engine.stop());
const pokeEach = async (calls: readonly WorldCall[]) => {
  for (const { gatedCallId } of calls) await engine.workflows.poke(gatedCallId);
};

it.each([0, 3])(
  'a worker that keeps %i workflows in memory takes a hundred calls through, each once',
  async (maxCachedWorkflows) => {
    const { world } = engine;
    await engine.startWorker({ maxCachedWorkflows });
    const calls = await Promise.all(Array.from({ length: 100 }, () => world.hold()));
    await pokeEach(calls);
    await waitFor(() => world.counts.looks >= calls.length, { timeoutMs: 400_000 });
    goOn(engine, calls);
    await pokeEach(calls);
    // One after the other: a hundred that ask all the time would take the machine from the worker.
    for (const call of calls) expect(await world.ended(call, 400_000)).toBe('executed');
    expect(new Set(calls.map((call) => world.arrivalsOf(call)))).toEqual(new Set([1]));
  },
  900_000,
);

it('workflow code that does not fit, deployed and rolled back, delays calls and nothing else', async () => {
  const { world } = engine;
  const workflowsPath = packagePath('test', 'fixtures', 'engine', 'incompatible.workflow.ts');
  const bundle = await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('WARN') });
  const right = await engine.startWorker();
  // A tool that is still running when its worker stops is another matter; so not that stage.
  const stages = STAGES.filter((stage) => !stage.startsWith('is ') && !stage.startsWith('has '));
  const calls = await Promise.all(stages.map((stage) => callAt(stage, engine)));
  await right.stop();
  const wrong = await engine.startWorker({ bundle, maxCachedWorkflows: 0 });
  await pokeEach(calls);
  // The wrong code fails on those that have taken a step before.
  await waitFor(
    async () => {
      const failed = await Promise.all(calls.slice(1).map(failsIn));
      return failed.every(Boolean);
    },
    { timeoutMs: 180_000 },
  );
  await wrong.stop();
  goOn(engine, calls);
  await engine.startWorker();
  await engine.startMaintenance();
  await pokeEach(calls);
  const ends = await Promise.all(calls.slice(1).map((call) => world.ended(call, 240_000)));
  expect(ends).toEqual(['executed', 'executed']);
  // The one that began with the wrong code cannot go on with the right one, until somebody ends it.
  const first = calls[0];
  if (first !== undefined) {
    expect(world.arrivalsOf(first)).toBe(0);
    await engine.handle(first).terminate('began with the wrong code');
    expect(await world.ended(first)).toBe('executed');
  }
  expect(calls.map((call) => world.arrivalsOf(call))).toEqual([1, 1, 1]);

  async function failsIn(call: (typeof calls)[number]): Promise<boolean> {
    const { events } = await engine.handle(call).fetchHistory();
    return (events ?? []).some((event) => event.workflowTaskFailedEventAttributes);
  }
}, 600_000);
