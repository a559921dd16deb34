import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { callAt, goOn } from '../support/engine-stages.ts';
import type { WorldCall } from '../support/engine-world.ts';
import { startEngine, type Engine } from '../support/engine.ts';
import { inParallel, times } from '../support/regime.ts';
import { testTemporal } from '../support/temporal.ts';
import { waitFor } from '../support/wait-for.ts';

let engine!: Engine;
beforeAll(async () => {
  const { address } = await testTemporal();
  engine = await startEngine({
    address,
    world: { executionTimeoutMs: 240_000 },
  });
  await engine.startWorker();
}, 180_000);
afterAll(() => engine?.stop());

/** More than a run of a workflow takes before it hands over to the next one. */
const POKES = times(2_100, 5_000);

describe(`${POKES} pokes`, () => {
  it.each([
    ['awaits its resolution', 'hands over from run to run'],
    ['is sent and has no answer', 'stays in one run'],
  ] as const)(
    'on a call that %s: its workflow %s, far from the limits, and the call is executed once',
    async (stage, then) => {
      const { world, handle } = engine;
      const call = await callAt(stage, engine);
      const before = world.counts.looks;
      const { runId } = await handle(call).describe();
      await inParallel(POKES, 50, () => handle(call).signal('poke'));
      if (then === 'hands over from run to run') {
        await waitFor(async () => (await handle(call).describe()).runId !== runId, { timeoutMs: 60_000 });
      }
      const looks = world.counts.looks - before;
      goOn(engine, [call]);
      await engine.workflows.poke(call.gatedCallId);
      expect(await world.ended(call, 120_000)).toBe('executed');
      await engine.closed(call, 120_000);
      const lengths = await lengthsOfRuns(call);
      process.stderr.write(`      ${POKES} pokes, ${stage}: ${looks} looks, runs of ${lengths.join(', ')} events\n`);
      expect(world.arrivalsOf(call)).toBe(1);
      expect(looks).toBeLessThan(60);
      expect(lengths.length > 1).toBe(then === 'hands over from run to run');
      expect(Math.max(...lengths)).toBeLessThan(20_000);
    },
    400_000,
  );
});

/** How many events each run of the call's workflow has, once all are in the engine's list as closed. */
async function lengthsOfRuns(call: WorldCall): Promise<number[]> {
  const { workflowId } = await engine.handle(call).describe();
  return waitFor(
    async () => {
      const found: number[] = [];
      for await (const run of engine.client.workflow.list({ query: `WorkflowId = '${workflowId}'` })) {
        found.push(run.historyLength ?? 0);
      }
      return found.length > 0 && found.every((length) => length > 0) ? found : undefined;
    },
    { timeoutMs: 120_000 },
  );
}
