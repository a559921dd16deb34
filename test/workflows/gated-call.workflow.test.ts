import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { NativeConnection, Worker, type WorkflowBundle } from '@temporalio/worker';
import pino from 'pino';
import { installRuntime } from '../../apps/worker/worker.ts';
import { bundleWorkflows } from '../../apps/worker/bundle.ts';
import { createGatedCallWorkflows } from '../../apps/shared/temporal/gated-call-workflows.ts';
import type { ActivityPorts } from '../../workflows/activity-ports.ts';
import { gatedCallWorkflowId } from '../../workflows/ids.ts';
import { testTemporal } from '../support/temporal.ts';
import { waitFor } from '../support/wait-for.ts';

const HOUR = 3_600_000;
const awaiting = (awaits: 'resolution' | 'decision', waitMs: number) => ({ kind: 'wait', awaits, waitMs }) as const;

/** Activities that answer from scripts, the last answer for ever, and note every step taken. */
function scripted(script: { [Step in keyof ActivityPorts]?: Awaited<ReturnType<ActivityPorts[Step]>>[] }) {
  const steps: string[] = [];
  const looks: (number | undefined)[] = [];
  const step = <T>(name: keyof ActivityPorts, answers: readonly T[]) => {
    let turn = 0;
    return async (_call: unknown, look?: number): Promise<T> => {
      steps.push(name);
      if (name === 'claimExecution') looks.push(look);
      const answer = answers[Math.min(turn++, answers.length - 1)];
      if (answer instanceof Error) throw answer;
      return answer as T;
    };
  };
  const activities: ActivityPorts = {
    claimExecution: step('claimExecution', script.claimExecution ?? [{ kind: 'claimed', executionTimeoutMs: 5_000 }]),
    invokeTool: step('invokeTool', script.invokeTool ?? [undefined]),
    settle: step('settle', script.settle ?? [{ kind: 'ended' }]),
  };
  return { activities, steps, looks };
}

describe('the workflow of a gated call', () => {
  let bundle: WorkflowBundle;
  let native: NativeConnection;
  let client: Client;
  let temporal: Awaited<ReturnType<typeof testTemporal>>;
  beforeAll(async () => {
    installRuntime(pino({ enabled: false }));
    temporal = await testTemporal();
    native = await NativeConnection.connect({ address: temporal.address });
    client = new Client({ connection: await Connection.connect({ address: temporal.address }) });
    bundle = await bundleWorkflows();
  }, 300_000);
  afterAll(async () => {
    await client.connection.close();
    await native.close();
  });

  /** Runs `use` beside a worker with these activities, on a task queue of its own. */
  async function beside<T>(activities: ActivityPorts, use: (run: Run) => Promise<T>, firstLookMs = 1): Promise<T> {
    const taskQueue = randomUUID();
    const worker = await Worker.create({ connection: native, taskQueue, workflowBundle: bundle, activities });
    const gatedCallId = randomUUID();
    const workflows = createGatedCallWorkflows(client, { taskQueue, firstLookMs });
    return worker.runUntil(() =>
      use({
        start: () => workflows.start(gatedCallId),
        poke: () => workflows.poke(gatedCallId),
        result: () => client.workflow.getHandle(gatedCallWorkflowId(gatedCallId)).result(),
        handle: () => client.workflow.getHandle(gatedCallWorkflowId(gatedCallId)),
      }),
    );
  }
  interface Run {
    start(): Promise<void>;
    poke(): Promise<void>;
    result(): Promise<unknown>;
    handle(): ReturnType<Client['workflow']['getHandle']>;
  }

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

  it('looks again by itself when no callback comes', async () => {
    const { activities, steps } = scripted({ claimExecution: [awaiting('resolution', 10), { kind: 'ended' }] });
    await beside(activities, async ({ start, result }) => {
      await start();
      await result();
    });
    expect(steps).toEqual(['claimExecution', 'claimExecution']);
  });

  it('looks at once when poked during a long wait', async () => {
    const { activities, steps } = scripted({ claimExecution: [awaiting('resolution', HOUR), { kind: 'ended' }] });
    await beside(activities, async ({ start, poke, result }) => {
      await start();
      await waitFor(() => steps.length === 1);
      await poke();
      await result();
    });
    expect(steps).toEqual(['claimExecution', 'claimExecution']);
  });

  it('rests in the engine until its first look is due, and wakes from that by a poke as well', async () => {
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

  it('counts its looks afresh when it awaits a decision and no longer a resolution', async () => {
    const { activities, looks } = scripted({
      claimExecution: [
        ...[awaiting('resolution', 5), awaiting('resolution', 5)],
        ...[awaiting('decision', 5), awaiting('decision', 5)],
        { kind: 'ended' },
      ],
    });
    await beside(activities, async ({ start, result }) => {
      await start();
      await result();
    });
    expect(looks).toEqual([1, 2, 3, 2, 3]);
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
      claimExecution: [awaiting('resolution', HOUR), { kind: 'claimed', executionTimeoutMs: 5_000 }],
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
