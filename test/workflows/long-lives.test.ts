import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ApplicationFailure } from '@temporalio/activity';
import { WorkflowNotFoundError, type WorkflowHandle } from '@temporalio/client';
import { waitFor } from '../support/wait-for.ts';
import { awaiting, scripted, startWorkflowBench } from '../support/workflow-bench.ts';

const HOUR = 3_600_000;
/** One in ten minutes for thirty days, as it is where nothing else is configured. Here none of them is waited for. */
const LOOKS_IN_A_MONTH = 30 * 24 * 6;
const repeated = <T>(count: number, of: T): T[] => Array.from({ length: count }, () => of);
const ENDED = { kind: 'ended' } as const;
/** What the engine does not repeat by itself. */
const forGood = () => ApplicationFailure.nonRetryable('no use') as never;

let bench: Awaited<ReturnType<typeof startWorkflowBench>>;
beforeAll(async () => {
  bench = await startWorkflowBench();
}, 300_000);
afterAll(() => bench?.stop());

describe('a workflow that waits for long', () => {
  it('hands over after 500 looks, and its pauses go on where they were', async () => {
    const { activities, looks } = scripted({
      claimExecution: [awaiting('resolution', 0), ...repeated(519, awaiting('decision', 0)), ENDED],
    });
    const runs = await bench.beside(activities, async ({ start, handle }) => {
      await start();
      const { runId } = await handle().describe();
      return { first: runId, ...(await lastRun(handle())) };
    });
    expect(looks).toEqual([1, 2, ...Array.from({ length: 519 }, (_, index) => index + 2)]);
    expect(runs.before).toBe(runs.first);
    expect(runs.input).toEqual([{ gatedCallId: expect.any(String) }, { awaits: 'decision', look: 500 }]);
  }, 120_000);

  it('for a month has no history that grows: each run hands over long before the limits of the engine', async () => {
    const count = LOOKS_IN_A_MONTH;
    const { activities, looks } = scripted({
      claimExecution: [...repeated(count - 1, awaiting('resolution', 0)), ENDED],
    });
    const lengths = await bench.beside(activities, async ({ start, result, handle }) => {
      await start();
      await result();
      const { workflowId, runId } = await handle().describe();
      return lengthsOf(workflowId, runId);
    });
    expect(looks).toHaveLength(count);
    expect(lengths).toHaveLength(Math.ceil(count / 500));
    expect(Math.max(...lengths)).toBeLessThan(2_500);
  }, 600_000);

  it('hands over while nobody knows how its execution went, and takes it up again where the row says', async () => {
    const { activities, steps } = scripted({});
    const runsBegun = () => steps.filter((step) => step === 'claimExecution').length;
    const settle = async () => {
      steps.push('settle');
      return runsBegun() > 1 ? ENDED : ({ kind: 'wait', waitMs: 500 } as const);
    };
    const input = await bench.beside({ ...activities, settle }, async ({ start, handle }) => {
      await start();
      await waitFor(() => steps.includes('settle'));
      // Nobody listens to them now, but they make the run as long as five hundred looks would.
      for (let sent = 0; sent < 2_000; sent += 50) {
        await Promise.all(Array.from({ length: 50 }, () => signalAnyRun(handle())));
      }
      return (await lastRun(handle())).input;
    });
    const again = steps.lastIndexOf('claimExecution');
    expect(new Set(steps.slice(2, again))).toEqual(new Set(['settle']));
    const begun = ['claimExecution', 'invokeTool'];
    expect([steps.slice(0, 2), steps.slice(again)]).toEqual([begun, [...begun, 'settle']]);
    expect(input).toEqual([{ gatedCallId: expect.any(String) }]);
  }, 180_000);

  it('loses no poke that comes while it hands over', async () => {
    const { activities, steps } = scripted({
      claimExecution: [...repeated(499, awaiting('resolution', 0)), awaiting('resolution', HOUR)],
    });
    await bench.beside(activities, async ({ start, poke, handle }) => {
      await start();
      await waitFor(() => steps.length === 500, { timeoutMs: 60_000 });
      await poke();
      // The five hundredth look is the last one of its run.
      await waitFor(() => steps.length === 501);
      await poke();
      await waitFor(() => steps.length === 502);
      await handle().terminate();
    });
  }, 120_000);
});

describe('a workflow whose steps fail for good', () => {
  it('looks again after a pause, or when poked', async () => {
    const { activities, looks } = scripted({ claimExecution: [forGood(), forGood(), ENDED] });
    await bench.beside(activities, async ({ start, poke, result }) => {
      await start();
      await waitFor(() => looks.length === 1);
      await poke();
      await waitFor(() => looks.length === 2);
      await poke();
      await result();
    });
    expect(looks).toEqual([1, 2, 3]);
  });

  it('asks the row how an execution went until it learns it', async () => {
    const { activities, steps } = scripted({ invokeTool: [forGood()], settle: [forGood(), ENDED] });
    await bench.beside(activities, async ({ start, result }) => {
      await start();
      await result();
    });
    expect(steps).toEqual(['claimExecution', 'invokeTool', 'settle', 'settle']);
  }, 120_000);
});

it('a workflow that is cancelled in the engine goes on: a call is cancelled at its row', async () => {
  const { activities, steps } = scripted({ claimExecution: [awaiting('resolution', HOUR), ENDED] });
  await bench.beside(activities, async ({ start, poke, result, handle }) => {
    await start();
    await waitFor(() => steps.length === 1);
    await handle().cancel();
    await poke();
    await result();
    expect((await handle().describe()).status.name).toBe('COMPLETED');
  });
  expect(steps).toHaveLength(2);
});

it('answers five pokes in a row at once, and then one in five seconds', async () => {
  const { activities, steps } = scripted({ claimExecution: [awaiting('resolution', HOUR)] });
  const tookMs = await bench.beside(activities, async ({ start, poke, handle }) => {
    await start();
    await waitFor(() => steps.length === 1);
    for (let looks = 2; looks <= 6; looks += 1) {
      await poke();
      await waitFor(() => steps.length === looks);
    }
    const began = performance.now();
    await poke();
    await waitFor(() => steps.length === 7);
    await handle().terminate();
    return performance.now() - began;
  });
  expect(tookMs).toBeGreaterThan(3_000);
}, 60_000);

/** How many events each run has, from this one back to the first. */
async function lengthsOf(workflowId: string, runId: string): Promise<number[]> {
  const { events } = await bench.client.workflow.getHandle(workflowId, runId).fetchHistory();
  const before = events?.[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId ?? '';
  return [events?.length ?? Infinity, ...(before === '' ? [] : await lengthsOf(workflowId, before))];
}

/** Waits for the end, and says how the last run began. */
async function lastRun(handle: WorkflowHandle) {
  await handle.result();
  const { events } = await handle.fetchHistory();
  const started = events?.[0]?.workflowExecutionStartedEventAttributes;
  return { before: started?.continuedExecutionRunId, input: inputOf(started?.input?.payloads) };
}

/** The last ones may find that everything is over. */
async function signalAnyRun(handle: WorkflowHandle): Promise<void> {
  await handle.signal('poke').catch((error: unknown) => {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  });
}

function inputOf(payloads: readonly { data?: Uint8Array | null }[] | null | undefined): unknown[] {
  return (payloads ?? []).map(({ data }) => JSON.parse(Buffer.from(data ?? []).toString()));
}
