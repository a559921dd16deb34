import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { callAt, goOn } from '../support/engine-stages.ts';
import { lengthsOfRuns, startEngine, type Engine } from '../support/engine.ts';
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
});
afterAll(() => engine?.stop());

/** More than a run of a workflow takes before it hands over to the next one. */
const SIGNALS = times(2_100, 5_000);

describe(`${SIGNALS} signals`, () => {
  it.each([
    ['awaits its resolution', 'hands over from run to run'],
    ['is sent and has no answer', 'stays in one run'],
  ] as const)(
    'on a call that %s: its workflow %s, far from the limits, and the call is executed once',
    async (stage, then) => {
      const { world, handle } = engine;
      const call = await callAt(stage, engine);
      const [before, began] = [world.counts.reads, performance.now()];
      const { runId } = await handle(call).describe();
      await inParallel(SIGNALS, 50, () => handle(call).signal('changed'));
      if (then === 'hands over from run to run') {
        await waitFor(async () => (await handle(call).describe()).runId !== runId, { timeoutMs: 300_000 });
      }
      const reads = world.counts.reads - before;
      // The machine may take any time for them: each run may read five times at once, and then once in five seconds.
      const mostReads = 60 + (performance.now() - began) / 5_000;
      goOn(engine, [call]);
      await engine.workflows.signal(call.gatedCallId);
      expect(await world.ended(call, 120_000)).toBe('executed');
      // The engine gave up a step while the machine stood still: the workflow waits for the end of the execution.
      await engine.closed(call, 300_000);
      const { events } = await engine.client.workflow.getHandle(handle(call).workflowId, runId).fetchHistory();
      const isGivenUp = events?.some((event) => event.activityTaskTimedOutEventAttributes) === true;
      const lengths = await lengthsOfRuns(engine, call);
      process.stderr.write(
        `      ${SIGNALS} signals, ${stage}: ${reads} reads, runs of ${lengths.join(', ')} events\n`,
      );
      expect(world.arrivalsOf(call)).toBe(1);
      expect(reads).toBeLessThan(mostReads);
      expect(lengths.length > 1).toBe(then === 'hands over from run to run' || isGivenUp);
      expect(Math.max(...lengths)).toBeLessThan(20_000);
    },
  );
});
