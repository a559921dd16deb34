import pino from 'pino';
import type { Pool } from 'pg';
import type { ActivityDeps } from '../../activities/step.ts';
import { createActivities } from '../../activities/index.ts';
import { createDueCalls } from '../../activities/stores/due-calls.ts';
import { createGatedCallStore } from '../../activities/stores/gated-call.store.ts';
import { createLifecycleStore, type LifecycleStore } from '../../activities/stores/lifecycle.store.ts';
import { createEnsureSubmitted } from '../../activities/submit-access-request.ts';
import { outboxHandlers } from '../../apps/worker/jobs/deliver-outbox.ts';
import type { AccessRequestService, GatedCalls, GatedCallView, Opened, Opening } from '../../workflows/domain/ports.ts';
import { ALL_ACCEPTED } from '../support/all-accepted.ts';
import { ALL_MET } from '../support/all-met.ts';
import { NEVER_RESTORED } from '../support/never-restored.ts';
import { NO_FORMS } from '../support/no-forms.ts';
import { TEST_SEALS } from '../support/gated-calls.ts';
import type { Outside } from './outside.ts';
import type { Fiber } from './scheduler.ts';
import { systemTime } from '../support/time.ts';

const LIMITS = {
  seals: TEST_SEALS,
  requestTtlMs: 3_600_000,
  firstPollMs: 3_600_000,
  retentionMs: 3_600_000,
  maxOpenPerCaller: 10,
};
const SETTINGS: ActivityDeps['settings'] = {
  executionTimeoutMs: 3_600_000,

  callbackUrl: 'http://127.0.0.1:1/callbacks',
  maxGenerations: 2,
  claimsAtOnce: 1_000,
  outcomeProbes: {},
};

/** The points where a mutant deviates from the product. */
export interface Mutation {
  readonly accessRequests?: (port: AccessRequestService) => AccessRequestService;
  readonly calls?: (port: GatedCalls) => GatedCalls;
  readonly deps?: (deps: ActivityDeps) => ActivityDeps;
  readonly handlers?: (handlers: Handlers) => Handlers;
  readonly sweeps?: false;
}
type Handlers = ReturnType<typeof outboxHandlers>;

/** The parts of one process of the product; each call of a port is a step of this fiber. */
export type Instance = ReturnType<typeof createInstance>;

export interface Surroundings {
  readonly pool: Pool;
  readonly outside: Outside;
  /** The engine was told of a call, or reminded of it. */
  readonly onWorkflow: (gatedCallId: string) => void;
  readonly watch: Watch;
  readonly mutation: Mutation;
}

/** The engine learns the store's change in the same moment, even if the process that made it is gone afterwards. */
export interface Watch {
  opened(opening: Opening, opened: Opened): Promise<void>;
  shown(view: GatedCallView): Promise<void>;
}

export function createInstance({ pool, outside, onWorkflow, watch, mutation }: Surroundings, fiber: Fiber) {
  const store = stepwise(createLifecycleStore(pool, { ...LIMITS, ...systemTime }), fiber);
  const service = outside.authority.accessRequests(fiber);
  const accessRequests = mutation.accessRequests?.(service) ?? service;
  const calls = createGatedCallStore(pool, { ...LIMITS, ...systemTime });
  const plain: ActivityDeps = {
    ...systemTime,
    store,
    pdp: outside.pdp(fiber),
    accessRequests,
    ensureSubmitted: createEnsureSubmitted({ ...systemTime, store: patient(store, fiber), accessRequests }),
    upstreams: outside.upstreams(fiber),
    acceptedTools: ALL_ACCEPTED,
    requestForms: NO_FORMS,
    requirements: ALL_MET,
    clocksAgree: () => true,
    // Steps happen at any moment here, also where no workflow would exist: that is no sign of a restore.
    restores: { ...NEVER_RESTORED, report: async () => undefined },
    log: pino({ enabled: false }),
    settings: SETTINGS,
  };
  const deps = mutation.deps?.(plain) ?? plain;
  const told = (label: string) => (id: string) =>
    fiber.step(label, async () => (onWorkflow(id), 'running' as const), 'ERR_UPSTREAM_UNAVAILABLE');
  const workflows = {
    start: told('start the workflow'),
    signal: told('signal the workflow'),
    activity: async () => 'waiting' as const,
  };
  const handlers = outboxHandlers({
    ...{ workflows, calls: deps.store, accessRequests: deps.accessRequests, log: deps.log },
  });
  return {
    calls: stepwise(watched(mutation.calls?.(calls) ?? calls, watch), fiber),
    store: deps.store,
    ensureSubmitted: deps.ensureSubmitted,
    activities: createActivities(deps),
    handlers: mutation.handlers?.(handlers) ?? handlers,
    due: stepwise(createDueCalls(pool), fiber),
    /** An outbox row that was handled. */
    drop: (rowId: string) =>
      fiber.step(
        'delete',
        () => pool.query('DELETE FROM gateway.outbox WHERE id = $1', [rowId]),
        'ERR_DATABASE_UNAVAILABLE',
      ),
  };
}

function watched(calls: GatedCalls, watch: Watch): GatedCalls {
  return {
    ...calls,
    async open(opening) {
      const opened = await calls.open(opening);
      await watch.opened(opening, opened);
      return opened;
    },
    async findTask(taskId, owner) {
      const view = await calls.findTask(taskId, owner);
      if (view !== undefined) await watch.shown(view);
      return view;
    },
  };
}

/** The same functions, each as a step. */
function stepwise<T extends object>(functions: T, fiber: Fiber): T {
  const wrapped = Object.entries(functions).map(([name, work]) => [
    name,
    (...args: unknown[]) =>
      fiber.step(name, () => (work as (...args: unknown[]) => Promise<unknown>)(...args), 'ERR_DATABASE_UNAVAILABLE'),
  ]);
  return Object.fromEntries(wrapped) as T;
}

/**
 * A caller that joins a call that is still being opened would wait by the clock; here the client hangs up, and may come
 * again.
 */
function patient(store: LifecycleStore, fiber: Fiber): LifecycleStore {
  return {
    ...store,
    async progress(gatedCallId) {
      const call = await store.progress(gatedCallId);
      return call.state === 'preparing' ? fiber.leave() : call;
    },
  };
}
