import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ActivityPorts } from '../../workflows/activity-ports.ts';
import { waitFor } from '../support/wait-for.ts';
import { scripted, startWorkflowBench, waiting, type Run } from '../support/workflow-bench.ts';

const HOUR = 3_600_000;

describe('the workflow of a gated call', () => {
  let bench: Awaited<ReturnType<typeof startWorkflowBench>>;
  beforeAll(async () => {
    bench = await startWorkflowBench();
  });
  afterAll(() => bench?.stop());
  const beside = <T>(activities: ActivityPorts, use: (run: Run) => Promise<T>, restMs?: number) =>
    bench.beside(activities, use, restMs);

  it('goes from claim to execution in order', async () => {
    const { activities, steps } = scripted({});
    await beside(activities, async ({ start, result }) => {
      await start();
      await result();
    });
    expect(steps).toEqual(['claimExecution', 'invokeTool', 'settle']);
  });

  it('does nothing more for a call that is over', async () => {
    const { activities, steps } = scripted({ claimExecution: [{ kind: 'ended' }] });
    await beside(activities, async ({ start, result }) => {
      await start();
      await result();
    });
    expect(steps).toEqual(['claimExecution']);
  });

  it('looks again by itself when a wait is over', async () => {
    const { activities, steps } = scripted({ claimExecution: [waiting(10), { kind: 'ended' }] });
    await beside(activities, async ({ start, result }) => {
      await start();
      await result();
    });
    expect(steps).toEqual(['claimExecution', 'claimExecution']);
  });

  it('looks at once when poked during a long wait', async () => {
    const { activities, steps } = scripted({ claimExecution: [waiting(HOUR), { kind: 'ended' }] });
    await beside(activities, async ({ start, poke, result }) => {
      await start();
      await waitFor(() => steps.length === 1);
      await poke();
      await result();
    });
    expect(steps).toEqual(['claimExecution', 'claimExecution']);
  });

  it('rests in the engine without a step, and is woken from that by a poke', async () => {
    const { activities, steps } = scripted({ claimExecution: [{ kind: 'ended' }] });
    await beside(
      activities,
      async ({ start, poke, result }) => {
        await start();
        expect(steps).toEqual([]);
        await poke();
        await result();
      },
      HOUR,
    );
    expect(steps).toEqual(['claimExecution']);
  });

  it('leaves a failed invocation to settling, and tries again only when no permit was given', async () => {
    const { activities, steps } = scripted({
      invokeTool: [new Error('the process died') as never, undefined],
      settle: [{ kind: 'invoke' }, { kind: 'wait', waitMs: 5 }, { kind: 'ended' }],
    });
    await beside(activities, async ({ start, result }) => {
      await start();
      await result();
    });
    expect(steps.filter((step) => step === 'invokeTool')).toHaveLength(2);
    expect(steps.slice(-2)).toEqual(['settle', 'settle']);
  });

  it('is started and woken any number of times without running twice', async () => {
    const { activities, steps } = scripted({
      claimExecution: [waiting(HOUR), { kind: 'claimed', executionTimeoutMs: 5_000 }],
    });
    const runs = await beside(activities, async ({ start, poke, result, handle }) => {
      await Promise.all([start(), start(), start()]);
      await waitFor(() => steps.length === 1);
      await Promise.all([poke(), poke(), poke()]);
      await result();
      const before = await handle().describe();
      await Promise.all([start(), poke()]);
      return [before.runId, (await handle().describe()).runId];
    });
    // Steps that are idempotent may run again when a signal arrives while a workflow task ends; the invocation may not.
    expect(steps.filter((step) => step === 'invokeTool')).toHaveLength(1);
    expect(new Set(runs).size).toBe(1);
    expect(steps.at(-1)).toBe('settle');
  });

  it('keeps nothing but a reference in its history', async () => {
    const { activities } = scripted({});
    await beside(activities, async ({ start, result, handle }) => {
      await start();
      await result();
      const { events } = await handle().fetchHistory();
      const input = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
      const text = input.map((payload) => Buffer.from(payload.data ?? []).toString()).join();
      expect(JSON.parse(text)).toEqual({ gatedCallId: expect.stringMatching(/^[0-9a-f-]{36}$/) });
    });
  });
});
