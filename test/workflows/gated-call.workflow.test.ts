import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ActivityPorts } from '../../workflows/activity-ports.ts';
import { waitFor } from '../support/wait-for.ts';
import { CLAIMED, scripted, startWorkflowBench, stillOpen, type Run } from '../support/workflow-bench.ts';

const HOUR = 3_600_000;
const ENDED = { kind: 'ended' } as const;
const GRANTED = { kind: 'granted' } as const;
const inAnHour = (generation = 1) => ({ generation, deadlineMs: Date.now() + HOUR });

let bench: Awaited<ReturnType<typeof startWorkflowBench>>;
beforeAll(async () => {
  bench = await startWorkflowBench();
});
afterAll(() => bench?.stop());
const beside = <T>(activities: ActivityPorts, use: (run: Run) => Promise<T>) => bench.beside(activities, use);
const toTheEnd = async ({ start, result }: Run) => {
  await start();
  await result();
};

describe('the workflow of a gated call', () => {
  it('reads the resolution, decides and claims, calls the tool and settles, in order', async () => {
    const { activities, steps } = scripted({});
    await beside(activities, toTheEnd);
    expect(steps).toEqual(['readResolution', 'decideAndClaim', 'invokeTool', 'settle']);
  });

  it.each([
    ['the resolution', { readResolution: [ENDED] }, ['readResolution']],
    ['the decision', { decideAndClaim: [ENDED] }, ['readResolution', 'decideAndClaim']],
  ] as const)('takes no step for a call that %s ended', async (_, script, taken) => {
    const { activities, steps } = scripted(script as object);
    await beside(activities, toTheEnd);
    expect(steps).toEqual(taken);
  });

  it('reads the resolution of the next generation when the policy requires another approval', async () => {
    const { activities, steps } = scripted({ decideAndClaim: [{ kind: 'next_generation' }, CLAIMED] });
    await beside(activities, toTheEnd);
    expect(steps.slice(0, 4)).toEqual(['readResolution', 'decideAndClaim', 'readResolution', 'decideAndClaim']);
  });

  it('repeats a step by itself when a wait is over', async () => {
    const { activities, steps } = scripted({
      readResolution: [stillOpen(10), GRANTED],
      decideAndClaim: [{ kind: 'retry', waitMs: 10 }, ENDED],
    });
    await beside(activities, toTheEnd);
    expect(steps).toEqual(['readResolution', 'readResolution', 'decideAndClaim', 'decideAndClaim']);
  });

  it('waits from its start without a step, and reads the resolution at a signal', async () => {
    const { activities, steps } = scripted({ readResolution: [ENDED] });
    await beside(activities, async ({ start, signal, result, handle }) => {
      await start(inAnHour());
      await waitFor(async () => (await timersOf(handle())) === 1);
      expect(steps).toEqual([]);
      await signal();
      await result();
    });
    expect(steps).toEqual(['readResolution']);
  });

  it('reads the resolution at the request deadline', async () => {
    const { activities, steps } = scripted({ readResolution: [ENDED] });
    await beside(activities, async ({ start, result }) => {
      await start({ generation: 1, deadlineMs: Date.now() + 10 });
      await result();
    });
    expect(steps).toEqual(['readResolution']);
  });

  it.each([
    ['a resolution', { readResolution: [stillOpen(HOUR), ENDED] }, 1],
    ['a decision', { decideAndClaim: [{ kind: 'retry', waitMs: HOUR }, ENDED] }, 2],
    ['an answer', { decideAndClaim: [{ kind: 'input_required', waitMs: HOUR }, ENDED] }, 2],
  ] as const)('repeats the step at a signal while it waits for %s', async (_, script, before) => {
    const { activities, steps } = scripted(script as object);
    await beside(activities, async ({ start, signal, result }) => {
      await start();
      await waitFor(() => steps.length === before);
      await signal();
      await result();
    });
    expect(steps).toHaveLength(before + 1);
    expect(steps.at(-1)).toBe(steps.at(-2));
  });

  it('leaves a failed invocation to settling, and decides the call anew only when its claim was given up', async () => {
    const { activities, steps } = scripted({
      invokeTool: [new Error('the process died') as never, undefined],
      settle: [{ kind: 'released', waitMs: 5 }, { kind: 'retry', waitMs: 5 }, { kind: 'ended' }],
    });
    await beside(activities, toTheEnd);
    const again = ['readResolution', 'decideAndClaim', 'invokeTool', 'settle'];
    expect(steps).toEqual([...again, ...again, 'settle']);
  });

  it('is started and signalled any number of times without running twice', async () => {
    const { activities, steps } = scripted({ readResolution: [stillOpen(HOUR), GRANTED] });
    const runs = await beside(activities, async ({ start, signal, result, handle }) => {
      await Promise.all([start(), start(), start()]);
      await waitFor(() => steps.length === 1);
      await Promise.all([signal(), signal(), signal()]);
      await result();
      const before = await handle().describe();
      await Promise.all([start(), signal()]);
      return [before.runId, (await handle().describe()).runId];
    });
    // Idempotent steps may run again when a signal arrives while a workflow task ends; the invocation may not.
    expect(steps.filter((step) => step === 'invokeTool')).toHaveLength(1);
    expect(new Set(runs).size).toBe(1);
    expect(steps.at(-1)).toBe('settle');
  });

  it('keeps only a reference and the deadline in its history', async () => {
    const { activities } = scripted({ readResolution: [ENDED] });
    const pending = inAnHour();
    await beside(activities, async ({ start, signal, result, handle }) => {
      await start(pending);
      await signal();
      await result();
      const { events } = await handle().fetchHistory();
      const input = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
      const text = input.map((payload) => Buffer.from(payload.data ?? []).toString()).join();
      expect(JSON.parse(text)).toEqual({ gatedCallId: expect.stringMatching(/^[0-9a-f-]{36}$/), pending });
    });
  });
});

describe('the engine shows the workflow’s state of waiting', () => {
  it('from its start, and after each step', async () => {
    const { activities, steps } = scripted({
      readResolution: [stillOpen(HOUR, 1), GRANTED, stillOpen(HOUR, 2), GRANTED],
      decideAndClaim: [
        { kind: 'input_required', waitMs: HOUR },
        { kind: 'next_generation' },
        { kind: 'retry', waitMs: HOUR },
        CLAIMED,
      ],
      settle: [{ kind: 'retry', waitMs: HOUR }],
    });
    let answer: () => void = () => undefined;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    const invokeTool = async () => {
      steps.push('invokeTool');
      await answered;
    };
    const seen: (string | undefined)[] = [];
    await beside({ ...activities, invokeTool }, async ({ start, signal, details, handle }) => {
      const after = async (count: number) => {
        await waitFor(() => steps.length === count);
        await waitFor(async () => (await details()) !== seen.at(-1));
        seen.push(await details());
      };
      await start(inAnHour());
      await after(0);
      await signal();
      await waitFor(() => steps.length === 1);
      for (const count of [3, 5, 7, 9]) {
        await signal();
        await after(count);
      }
      answer();
      await after(10);
      await handle().terminate();
    });
    expect(seen).toEqual([
      'waiting for a resolution, generation 1',
      "waiting for the requester's input",
      'waiting for a resolution, generation 2',
      'approved, asking policy',
      'calling the tool',
      'waiting for the outcome of the tool call',
    ]);
  });
});

async function timersOf(handle: ReturnType<Run['handle']>): Promise<number> {
  const { events } = await handle.fetchHistory();
  return (events ?? []).filter((event) => event.timerStartedEventAttributes).length;
}
