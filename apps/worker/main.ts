import type { Pool } from 'pg';
import type { Logger } from 'pino';
import { createActivities } from '../../activities/index.ts';
import { createPollResolution } from '../../activities/read-resolution.ts';
import { connectAuthority } from '../../activities/clients/authority.ts';
import { createRequestForms } from '../../activities/clients/access-requests/forms.ts';
import { createRequirementChecks } from '../../activities/clients/requirements.ts';
import { createUpstreams } from '../../activities/clients/upstream/pool.ts';
import { missingSealingKeys, rewrapDataKeys } from '../../activities/stores/key-ring.ts';
import { readDatabaseClock } from '../../activities/stores/query.ts';
import { createDueCalls, createDuePolls, createOpenCalls } from '../../activities/stores/due-calls.ts';
import { createLifecycleStore, type LifecycleStore } from '../../activities/stores/lifecycle.store.ts';
import { createFence } from '../../activities/stores/fence.ts';
import { createSeals } from '../../activities/stores/seals.ts';
import { createAccepted } from '../../activities/stores/pins.ts';
import { createEnsureSubmitted } from '../../activities/submit-access-request.ts';
import { CountersignError } from '../../workflows/domain/errors.ts';
import type {
  AccessRequestService,
  EnsureSubmitted,
  PolicyDecisionPoint,
  RequestForms,
} from '../../workflows/domain/ports.ts';
import type { Upstreams } from '../../workflows/domain/upstream-ports.ts';
import type { RequirementChecks } from '../../workflows/domain/tools/requirements.ts';
import type { AcceptedTools } from '../../workflows/domain/tools/accepted-descriptions.ts';
import { createResultCheck } from '../shared/schemas/schema-check.ts';
import { type Clock, systemClock } from '../shared/clock.ts';
import { CALLBACK_PATH, type Config } from '../shared/config/config.ts';
import type { Secrets } from '../shared/config/secrets.ts';
import { createPool, ROLES } from '../shared/database/pool.ts';
import { given, runDeployable } from '../shared/deployable.ts';
import { isEntryScript, type Running, stopAll } from '../shared/lifecycle.ts';
import { limitsOf, type Limits } from '../shared/limits.ts';
import { startOutbox } from '../shared/outbox.ts';
import { createTemporalClient } from '../shared/temporal/connection.ts';
import { createEngineMemory, type EngineMemory } from '../shared/temporal/fence-mark.ts';
import { createGatedCallWorkflows, type GatedCallWorkflows } from '../shared/temporal/gated-call-workflows.ts';
import { startWatchClocks, type OtherClocks } from './jobs/watch-clocks.ts';
import { obligationHandlers, outboxHandlers } from './jobs/deliver-outbox.ts';
import { startRestartLost } from './jobs/restart-lost.ts';
import { startWatchRestores } from './jobs/watch-restores.ts';
import { startPollResolutions } from './jobs/poll-resolutions.ts';
import { startExpiry } from '../shared/maintenance/expire.ts';
import { runWorker } from '../shared/temporal/worker.ts';

/** As many as the engine takes at little cost: it writes together what comes together. */
const OUTBOX_CONCURRENCY = 16;

/** The secrets that the worker holds. */
export const WORKER_SECRETS = [
  'pdpToken',
  'accessRequestToken',
  'sealingKeys',
  'recordSealingKeys',
  'digestKey',
] as const;
type WorkerSecrets = Pick<Secrets, (typeof WORKER_SECRETS)[number]>;

export interface WorkerDeps {
  readonly databaseUrl: string;
  readonly temporalAddress: string;
  readonly upstreams: Upstreams;
  readonly clock: Clock;
  readonly log: Logger;
}

/** What the worker reaches the world through. Whoever makes them closes them; the upstreams are not theirs to close. */
export interface WorkerConnections extends WorkerDeps {
  readonly limits: Limits;
  readonly pool: Pool;
  readonly store: LifecycleStore;
  readonly dueCalls: ReturnType<typeof createDueCalls> & { rewrap(limit: number): Promise<number> };
  readonly duePolls: ReturnType<typeof createDuePolls>;
  /** Names of the sealing keys there are. */
  readonly sealingKeyIds: readonly string[];
  readonly pdp: Pick<PolicyDecisionPoint, 'evaluate'>;
  /** Sends what policy obliges to, where that was queued. */
  readonly deliverObligation: (id: string) => Promise<void>;
  readonly accessRequests: AccessRequestService;
  readonly requestForms: RequestForms;
  readonly acceptedTools: AcceptedTools;
  readonly requirements: RequirementChecks;
  readonly clocks: OtherClocks;
  readonly workflows: GatedCallWorkflows;
  readonly engineMemory: EngineMemory;
  close(): Promise<void>;
}

/**
 * The worker: runs the workflows and activities of gated calls, hands out the outbox and carries deadlines out. Any
 * number may run at once.
 */
export function startWorker(config: Config, secrets: WorkerSecrets, deps: WorkerDeps): Promise<Running> {
  return startWorkerOn(config, connectWorker(config, secrets, deps));
}

/** The real parts behind the worker. Nothing is contacted before it is needed. */
export function connectWorker(config: Config, secrets: WorkerSecrets, deps: WorkerDeps): WorkerConnections {
  const own = { log: deps.log, clock: deps.clock, limits: limitsOf(config) };
  const pool = createPool(deps.databaseUrl, {
    applicationName: 'countersign worker',
    role: ROLES.worker,
    durable: config.mode === 'production',
    ...own,
  });
  const seals = createSeals(secrets);
  const engine = createTemporalClient({ ...config.temporal, address: deps.temporalAddress });
  const authority = connectAuthority(
    config.authority,
    { pdpToken: secrets.pdpToken, accessRequestToken: secrets.accessRequestToken },
    { pool, seals, obligations: config.obligations, ...own },
  );
  return {
    ...deps,
    limits: own.limits,
    pool,
    store: createLifecycleStore(pool, {
      ...{ seals, clock: own.clock },
      retentionMs: config.gateway.resultRetentionSeconds * 1_000,
      approvalUseMs: config.worker.approvalUseSeconds * 1_000,
    }),
    dueCalls: { ...createDueCalls(pool), rewrap: (limit) => rewrapDataKeys(pool, seals, limit) },
    duePolls: createDuePolls(pool, {
      minMs: config.worker.resolutionPollMinSeconds * 1_000,
      maxMs: config.worker.resolutionPollMaxSeconds * 1_000,
    }),
    sealingKeyIds: secrets.sealingKeys.map(({ kid }) => kid),
    requestForms: createRequestForms(own.log, own),
    ...authority,
    clocks: { database: () => readDatabaseClock(pool), accessRequests: authority.accessRequestsClock },
    acceptedTools: createAccepted(pool),
    requirements: createRequirementChecks(config.requirements, own),
    workflows: createGatedCallWorkflows(engine.client, {
      taskQueue: config.temporal.taskQueue,
      ...own,
    }),
    engineMemory: createEngineMemory(engine.client, own),
    close: () =>
      stopAll([
        { name: 'database pool', stop: () => pool.end() },
        { name: 'Temporal client', stop: () => engine.close() },
      ]),
  };
}

/** Starts the worker on these connections, and closes them when it stops or does not start. */
export async function startWorkerOn(config: Config, connections: WorkerConnections): Promise<Running> {
  const { pool, store, accessRequests, workflows, clock, limits, log } = connections;
  const ensureSubmitted = createEnsureSubmitted(connections);
  const parts: Running[] = [{ name: 'connections', stop: () => connections.close() }];
  try {
    await reportMissingKeys(connections);
    const clocks = startWatchClocks({ clocks: connections.clocks, clock, log });
    const restores = startWatchRestores({ fence: createFence(pool), engine: connections.engineMemory, clock, log });
    parts.push(clocks, restores, ...startMaintenance(config, { ...connections, ensureSubmitted, restores }));
    const activities = createActivities({
      ...{ ...connections, ensureSubmitted, clocksAgree: clocks.agree, restores },
      settings: activitySettings(config),
    });
    const temporal = { ...config.temporal, address: connections.temporalAddress };
    const { taskQueue } = temporal;
    parts.push(await runWorker({ temporal, taskQueue, activities, graceMs: executionTimeoutMs(config), log }));
    const handlers = {
      ...outboxHandlers({ workflows, calls: store, accessRequests, log }),
      ...obligationHandlers(connections),
    };
    parts.push(
      await startOutbox({
        ...{ pool, listenUrl: connections.databaseUrl, schema: 'gateway', channel: 'gateway_outbox' },
        ...{ handlers, concurrency: OUTBOX_CONCURRENCY, clock, limits, log },
      }),
    );
  } catch (error) {
    await stopAll(parts);
    throw error;
  }
  log.info('the worker is running');
  // A tool that answers after the process has gone leaves an unknown outcome.
  return { name: 'worker', stopMs: executionTimeoutMs(config) + limits.stopMs, stop: () => stopAll(parts) };
}

const executionTimeoutMs = ({ gateway }: Config) => gateway.executionTimeoutSeconds * 1_000;

/** What goes its rounds beside the workflows. None of it needs the engine to start. */
function startMaintenance(
  { worker }: Config,
  parts: WorkerConnections & { ensureSubmitted: EnsureSubmitted; restores: { report(id: string): Promise<void> } },
): Running[] {
  const { pool, store, dueCalls, duePolls, workflows, clock, log } = parts;
  return [
    startExpiry({
      calls: { ...dueCalls, expire: store.expire, end: store.end },
      intervalMs: worker.sweepIntervalMs,
      abandonAfterMs: worker.abandonAfterSeconds * 1_000,
      ...{ clock, log },
    }),
    startPollResolutions({ polls: { ...duePolls, poll: createPollResolution(parts) }, clock, log }),
    startRestartLost({
      ...{
        workflows,
        calls: createOpenCalls(pool),
        progress: store.progress,
        report: (id) => parts.restores.report(id),
        ...{ clock, log },
      },
      intervalMs: worker.reconcileIntervalSeconds * 1_000,
    }),
  ];
}

/** Says aloud which keys are missing. Calls that are sealed under them wait; all others go on. */
async function reportMissingKeys({ pool, sealingKeyIds, log }: WorkerConnections): Promise<void> {
  try {
    for (const missing of await missingSealingKeys(pool, sealingKeyIds)) {
      const nextStep = 'add the key after the current one, and start the worker again';
      log.error({ alarm: 'sealing_key_missing', ...missing }, `open calls wait for a sealing key: ${nextStep}`);
    }
  } catch (error) {
    if (!(error instanceof CountersignError) || !error.retryable) throw error;
    // It may come later: then each call that waits raises the alarm.
    log.warn({ err: error }, 'the sealing keys cannot be held against the database yet');
  }
}

function activitySettings(config: Config) {
  const { worker, urls, outcomeProbes } = config;
  return {
    executionTimeoutMs: executionTimeoutMs(config),
    callbackUrl: `${urls.gateway}${CALLBACK_PATH}`,
    maxGenerations: worker.maxGenerations,
    outcomeProbes,
  };
}

if (isEntryScript(import.meta.url)) {
  await runDeployable('worker', WORKER_SECRETS, systemClock, async ({ config, secrets, ...deps }) => {
    const temporalAddress = given(config.temporal.address, 'TEMPORAL_ADDRESS');
    const limits = limitsOf(config);
    const known = { settings: config.tools, fitsOutput: createResultCheck(limits) };
    const upstreams = createUpstreams(config.mcpServers, deps.log, { ...known, clock: deps.clock, limits });
    const worker = await startWorker(config, secrets, { ...deps, temporalAddress, upstreams });
    return { ...worker, stop: () => stopAll([{ name: 'upstreams', stop: () => upstreams.close() }, worker]) };
  });
}
