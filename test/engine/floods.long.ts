import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { callAt, goOn } from '../support/engine-stages.ts';
import { startEngine, type Engine } from '../support/engine.ts';
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

describe('five thousand pokes', () => {
  const SIGNALS = 5_000;

  it.each(['awaits its resolution', 'is sent and has no answer'] as const)(
    'on a call that %s: no history comes near the limits, and the call is executed once',
    async (stage) => {
      const { world, client, handle } = engine;
      const call = await callAt(stage, engine);
      const before = world.counts.looks;
      for (let at = 0; at < SIGNALS; at += 50) {
        await Promise.all(Array.from({ length: 50 }, () => handle(call).signal('poke')));
      }
      const looks = world.counts.looks - before;
      goOn(engine, [call]);
      await engine.workflows.poke(call.gatedCallId);
      expect(await world.ended(call, 120_000)).toBe('executed');
      await engine.closed(call, 120_000);
      const { workflowId } = await handle(call).describe();
      const lengths = await waitFor(
        async () => {
          const found: number[] = [];
          for await (const run of client.workflow.list({ query: `WorkflowId = '${workflowId}'` })) {
            found.push(run.historyLength ?? 0);
          }
          return found.length > 0 && found.every((length) => length > 0) ? found : undefined;
        },
        { timeoutMs: 120_000 },
      );
      process.stderr.write(`      ${SIGNALS} pokes, ${stage}: ${looks} looks, runs of ${lengths.join(', ')} events\n`);
      expect(world.arrivalsOf(call)).toBe(1);
      expect(looks).toBeLessThan(60);
      expect(Math.max(...lengths)).toBeLessThan(20_000);
    },
    400_000,
  );
});
