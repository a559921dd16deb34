import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ApplicationFailure } from '@temporalio/activity';
import { WorkflowNotFoundError, type WorkflowHandle } from '@temporalio/client';
import { waitFor } from '../support/wait-for.ts';
import { scripted, startWorkflowBench, stillOpen } from '../support/workflow-bench.ts';

const HOUR = 3_600_000;
/** As many events as make a run hand over. */
const MANY = 2_000;
const ENDED = { kind: 'ended' } as const;
/** An error that the engine does not repeat by itself. */
const forGood = () => ApplicationFailure.nonRetryable('no use') as never;

let bench: Awaited<ReturnType<typeof startWorkflowBench>>;
beforeAll(async () => {
  bench = await startWorkflowBench();
});
afterAll(() => bench?.stop());

describe('a workflow that waits for long', () => {
  it('hands over while the outcome of its execution is unknown, and goes on from the row', async () => {
    const { activities, steps } = scripted({});
    const runsBegun = () => steps.filter((step) => step === 'readResolution').length;
    const settle = async () => {
      steps.push('settle');
      return runsBegun() > 1 ? ENDED : ({ kind: 'retry', waitMs: 500 } as const);
    };
    const input = await bench.beside({ ...activities, settle }, async ({ start, handle }) => {
      await start();
      await waitFor(() => steps.includes('settle'));
      // No handler reads them, but they make the run long.
      await flood(MANY, handle());
      return (await lastRun(handle())).input;
    });
    const again = steps.lastIndexOf('readResolution');
    expect(new Set(steps.slice(3, again))).toEqual(new Set(['settle']));
    const begun = ['readResolution', 'decideAndClaim', 'invokeTool'];
    expect([steps.slice(0, 3), steps.slice(again)]).toEqual([begun, [...begun, 'settle']]);
    expect(input).toEqual([{ gatedCallId: expect.any(String) }]);
  });

  it('hands over when its history has become long, goes on from the row, and loses no signal meanwhile', async () => {
    const { activities, steps } = scripted({ readResolution: [stillOpen(HOUR)] });
    await bench.beside(activities, async ({ start, signal, handle }) => {
      await start();
      await waitFor(() => steps.length >= 1);
      const { runId } = await handle().describe();
      await flood(MANY, handle(), 'unknown');
      for (let reads = 2; reads <= 4; reads += 1) {
        await signal();
        await waitFor(() => steps.length === reads);
      }
      const { before, input } = await beginningOf(handle());
      expect(before).toBe(runId);
      expect(input).toEqual([{ gatedCallId: expect.any(String) }]);
      await handle().terminate();
    });
  });
});

describe('a workflow whose steps fail for good', () => {
  it('reads the resolution again after a pause, or at a signal', async () => {
    const { activities, steps } = scripted({ readResolution: [forGood(), forGood(), ENDED] });
    await bench.beside(activities, async ({ start, signal, result }) => {
      await start();
      await waitFor(() => steps.length >= 1);
      await signal();
      await waitFor(() => steps.length >= 2);
      await signal();
      await result();
    });
    expect(steps).toHaveLength(3);
  });

  it('asks the row about its execution until the outcome is known', async () => {
    const { activities, steps } = scripted({ invokeTool: [forGood()], settle: [forGood(), ENDED] });
    await bench.beside(activities, async ({ start, result }) => {
      await start();
      await result();
    });
    expect(steps).toEqual(['readResolution', 'decideAndClaim', 'invokeTool', 'settle', 'settle']);
  });
});

it('a workflow that is cancelled in the engine goes on: only the row can cancel a call', async () => {
  const { activities, steps } = scripted({ readResolution: [stillOpen(HOUR), ENDED] });
  await bench.beside(activities, async ({ start, signal, result, handle }) => {
    await start();
    await waitFor(() => steps.length >= 1);
    await handle().cancel();
    await signal();
    await result();
    expect((await handle().describe()).status.name).toBe('COMPLETED');
  });
  expect(steps).toHaveLength(2);
});

it('answers five signals in a row at once, and then one in five seconds', async () => {
  const { activities, steps } = scripted({ readResolution: [stillOpen(HOUR)] });
  const tookMs = await bench.beside(activities, async ({ start, signal, handle }) => {
    await start();
    await waitFor(() => steps.length >= 1);
    // Measured from before the last one that is answered at once: the machine may stand still after it.
    let began = 0;
    for (let reads = 2; reads <= 6; reads += 1) {
      began = performance.now();
      await signal();
      await waitFor(() => steps.length >= reads);
    }
    await signal();
    await waitFor(() => steps.length >= 7);
    await handle().terminate();
    return performance.now() - began;
  });
  expect(tookMs).toBeGreaterThan(3_000);
});

/** Waits for the end, and answers how the last run began. */
async function lastRun(handle: WorkflowHandle) {
  await handle.result();
  return beginningOf(handle);
}

async function beginningOf(handle: WorkflowHandle) {
  const { events } = await handle.fetchHistory();
  const started = events?.[0]?.workflowExecutionStartedEventAttributes;
  return {
    before: started?.continuedExecutionRunId,
    input: inputOf(started?.input?.payloads),
  };
}

/** The last ones may find that everything is over. */
async function flood(count: number, handle: WorkflowHandle, name = 'changed'): Promise<void> {
  const one = () =>
    handle.signal(name).catch((error: unknown) => {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    });
  for (let sent = 0; sent < count; sent += 50) await Promise.all(Array.from({ length: 50 }, one));
}

function inputOf(payloads: readonly { data?: Uint8Array | null }[] | null | undefined): unknown[] {
  return (payloads ?? []).map(({ data }) => JSON.parse(Buffer.from(data ?? []).toString()));
}
