import { randomUUID } from 'node:crypto';
import { Client, Connection, type WorkflowClientInterceptor, type WorkflowHandle } from '@temporalio/client';
import { NativeConnection, Worker, type WorkflowBundle } from '@temporalio/worker';
import pino from 'pino';
import { createGatedCallWorkflows } from '../../apps/shared/temporal/gated-call-workflows.ts';
import { bundleWorkflows } from '../../apps/shared/temporal/bundle.ts';
import { installRuntime, TURN_LIMIT } from '../../apps/shared/temporal/worker.ts';
import type { ActivityPorts, GatedCallStart } from '../../workflows/activity-ports.ts';
import { gatedCallWorkflowId } from '../../workflows/messages.ts';
import { testTemporal } from './temporal.ts';
import { systemTime } from './time.ts';

export const stillOpen = (waitMs: number, generation = 1) => ({ kind: 'open', generation, waitMs }) as const;

/** Activities that answer from scripts, with the last answer repeated for ever, and note every step. */
export function scripted(script: { [Step in keyof ActivityPorts]?: Awaited<ReturnType<ActivityPorts[Step]>>[] }) {
  const steps: string[] = [];
  const step = <T>(name: keyof ActivityPorts, answers: readonly T[]) => {
    let turn = 0;
    return async (): Promise<T> => {
      steps.push(name);
      const answer = answers[Math.min(turn++, answers.length - 1)];
      if (answer instanceof Error) throw answer;
      return answer as T;
    };
  };
  const activities: ActivityPorts = {
    readResolution: step('readResolution', script.readResolution ?? [{ kind: 'granted' }]),
    decideAndClaim: step('decideAndClaim', script.decideAndClaim ?? [{ kind: 'claimed', executionTimeoutMs: 5_000 }]),
    invokeTool: step('invokeTool', script.invokeTool ?? [undefined]),
    settle: step('settle', script.settle ?? [{ kind: 'ended' }]),
  };
  return { activities, steps };
}

/**
 * A task of a workflow that does not end in time is given out again, and its steps are taken once more: a machine may
 * stand still.
 */
const UNHURRIED: WorkflowClientInterceptor = {
  startWithDetails: (input, next) => next(unhurried(input)),
  signalWithStart: (input, next) => next(unhurried(input)),
};
const unhurried = <Input extends { readonly options: object }>(input: Input): Input => ({
  ...input,
  options: { ...input.options, workflowTaskTimeout: { seconds: 120 } },
});

export interface Run {
  /** Without an argument, the workflow reads the row first. */
  start(pending?: GatedCallStart['pending']): Promise<void>;
  signal(): Promise<void>;
  /** The workflow's state of waiting on the engine's own pages. */
  details(): Promise<string | undefined>;
  result(): Promise<unknown>;
  handle(): ReturnType<Client['workflow']['getHandle']>;
}

/** The product's workflow beside scripted steps, on a real server. */
export async function startWorkflowBench() {
  installRuntime(pino({ enabled: false }));
  const { address } = await testTemporal();
  const native = await NativeConnection.connect({ address });
  const client = new Client({
    connection: await Connection.connect({ address }),
    interceptors: { workflow: [UNHURRIED] },
  });
  const bundle: WorkflowBundle = await bundleWorkflows();
  return {
    client,
    /** Runs `use` beside a worker with these activities, on its own task queue. */
    async beside<T>(activities: ActivityPorts, use: (run: Run) => Promise<T>): Promise<T> {
      const taskQueue = randomUUID();
      const worker = await Worker.create({
        ...{ connection: native, taskQueue, workflowBundle: bundle, activities },
        ...TURN_LIMIT,
      });
      const gatedCallId = randomUUID();
      const workflows = createGatedCallWorkflows(client, { ...systemTime, taskQueue });
      return worker.runUntil(() =>
        use({
          start: async (pending) => void (await workflows.start(gatedCallId, pending)),
          signal: async () => void (await workflows.signal(gatedCallId)),
          details: () => currentDetails(client.workflow.getHandle(gatedCallWorkflowId(gatedCallId))),
          result: () => client.workflow.getHandle(gatedCallWorkflowId(gatedCallId)).result(),
          handle: () => client.workflow.getHandle(gatedCallWorkflowId(gatedCallId)),
        }),
      );
    },
    async stop() {
      await client.connection.close();
      await native.close();
    },
  };
}

/** The details that a workflow sets on itself, as the engine's pages ask for them. */
export async function currentDetails(handle: WorkflowHandle): Promise<string | undefined> {
  const { currentDetails: details } = await handle.query<{ currentDetails?: string }>('__temporal_workflow_metadata');
  return details;
}
