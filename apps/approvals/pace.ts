import type { Logger } from 'pino';
import type { Config } from '../shared/config/config.ts';
import { stopAll, type Running } from '../shared/lifecycle.ts';
import type { Timing } from '../shared/limits.ts';
import { startReconciler } from '../shared/maintenance/reconciler.ts';
import type { OutboxHandler } from '../shared/outbox.ts';
import { createAccessRequestWorkflows, type AccessRequestSteps } from '../shared/temporal/access-request-workflows.ts';
import { createTemporalClient } from '../shared/temporal/connection.ts';
import { startPatientWorker } from '../shared/temporal/patient-worker.ts';
import type { Consult } from './resolvers/consult.ts';
import type { AccessRequestStore } from './stores/access-request.store.ts';

/** Nothing is next for longer than the engine's timers are meant for: look now and then. */
const MAX_WAIT_MS = 30 * 86_400_000;

export interface PaceOptions extends Timing {
  readonly temporal: Config['temporal'] & { address: string };
  readonly store: Pick<AccessRequestStore, 'advance' | 'paced'>;
  /** Asks the resolver of the stage that is open. */
  readonly consult: Consult;
  /** Milliseconds between two looks for requests whose workflow was lost. */
  readonly reconcileIntervalMs: number;
  readonly log: Logger;
}

interface StepOptions {
  readonly store: Pick<AccessRequestStore, 'advance'>;
  readonly consult: Consult;
}

/** The steps of a request's life, over its row. */
export function createSteps({ store, consult }: StepOptions): AccessRequestSteps {
  return {
    async advanceAccessRequest({ accessRequestId }) {
      const waitMs = await store.advance(accessRequestId);
      if (waitMs === undefined) return { kind: 'ended' };
      return waitMs === 0 ? { kind: 'consult' } : { kind: 'wait', waitMs: Math.min(waitMs, MAX_WAIT_MS) };
    },
    async consultResolver({ accessRequestId }) {
      await consult(accessRequestId);
      return { kind: 'consulted' };
    },
  };
}

/**
 * Reminders and ends of stages, to the moment: the engine waits for them, and `wake` tells it of a request that moved.
 * While the engine is away no reminder is sent and no resolver is asked; deadlines are carried out by whoever looks at the
 * request. A workflow that is lost is started again.
 */
export function startPace({
  temporal,
  store,
  consult,
  reconcileIntervalMs,
  log,
  clock,
  limits,
}: PaceOptions): Running & { readonly wake: OutboxHandler } {
  const engine = createTemporalClient(temporal);
  const taskQueue = temporal.approvalsTaskQueue;
  const workflows = createAccessRequestWorkflows(engine.client, { taskQueue, clock, limits });
  const activities = createSteps({ store, consult });
  const worker = startPatientWorker({
    ...{ client: engine.client, temporal, taskQueue, activities, clock, limits, log },
    graceMs: limits.stepCloseMs,
  });
  const reconciler = startReconciler({
    ...{ of: 'open access requests', open: store.paced, workflows, clock, log },
    restart: ({ id }) => workflows.restart(id).then(() => true),
    // What is done in time is no work of a workflow that is stuck; so few are asked after, however many wait.
    rouse: async ({ id, isLate }) => isLate && (await workflows.rouse(id)),
    rouseEnded: (id) => workflows.rouse(id),
    intervalMs: reconcileIntervalMs,
  });
  return {
    name: 'pace of access requests',
    wake: (id) => workflows.wake(id),
    stop: () => stopAll([{ name: 'Temporal client', stop: () => engine.close() }, worker, reconciler]),
  };
}
