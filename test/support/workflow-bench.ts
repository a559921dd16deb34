import { randomUUID } from 'node:crypto';
import { activityInfo } from '@temporalio/activity';
import { Client, Connection, type WorkflowClientInterceptor, type WorkflowHandle } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import pino from 'pino';
import { createGatedCallWorkflows } from '../../apps/shared/temporal/gated-call-workflows.ts';
import { bundleWorkflows } from '../../apps/shared/temporal/bundle.ts';
import { installRuntime, TURN_LIMIT } from '../../apps/shared/temporal/worker.ts';
import type { ActivityPorts, GatedCallStart } from '../../workflows/activity-ports.ts';
import { gatedCallWorkflowId } from '../../workflows/messages.ts';
import { testTemporal } from './temporal.ts';
import { systemTime } from './time.ts';

export const CLAIMED = { kind: 'claimed', claimId: randomUUID(), executionTimeoutMs: 5_000 } as const;

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
    decideAndClaim: step('decideAndClaim', script.decideAndClaim ?? [CLAIMED]),
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

/** Activities that do what is scripted for the workflow that runs them: one worker serves the workflows of all tests. */
function byWorkflow(scripts: ReadonlyMap<string, ActivityPorts>): ActivityPorts {
  const scriptNow = (): ActivityPorts => {
    const id = activityInfo().workflowExecution?.workflowId ?? '';
    const script = scripts.get(id);
    if (script === undefined) throw new Error(`no activities are scripted for ${id}`);
    return script;
  };
  return {
    readResolution: (...input) => scriptNow().readResolution(...input),
    decideAndClaim: (...input) => scriptNow().decideAndClaim(...input),
    invokeTool: (...input) => scriptNow().invokeTool(...input),
    settle: (...input) => scriptNow().settle(...input),
  };
}

/** The product's workflow beside scripted steps, on a real server. */
export async function startWorkflowBench() {
  installRuntime(pino({ enabled: false }));
  const { address } = await testTemporal();
  const native = await NativeConnection.connect({ address });
  const client = new Client({
    // Its own limit is ten seconds, and a machine may stand still for as long.
    connection: await Connection.connect({ address, connectTimeout: '5 minutes' }),
    interceptors: { workflow: [UNHURRIED] },
  });
  const taskQueue = randomUUID();
  const scripts = new Map<string, ActivityPorts>();
  const worker = await Worker.create({
    ...{ connection: native, taskQueue, workflowBundle: await bundleWorkflows(), activities: byWorkflow(scripts) },
    ...TURN_LIMIT,
  });
  const ran = worker.run();
  const workflows = createGatedCallWorkflows(client, { ...systemTime, taskQueue });
  return {
    client,
    /** Runs `use` beside a worker that takes the steps of this call with these activities. */
    async beside<T>(activities: ActivityPorts, use: (run: Run) => Promise<T>): Promise<T> {
      const gatedCallId = randomUUID();
      scripts.set(gatedCallWorkflowId(gatedCallId), activities);
      const handle = () => client.workflow.getHandle(gatedCallWorkflowId(gatedCallId));
      return use({
        start: async (pending) => void (await workflows.start(gatedCallId, pending)),
        signal: async () => void (await workflows.signal(gatedCallId)),
        details: () => currentDetails(handle()),
        result: () => handle().result(),
        handle,
      });
    },
    async stop() {
      worker.shutdown();
      await ran;
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
