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
import { createLifecycleStore } from '../../activities/stores/lifecycle.store.ts';
import { createFence } from '../../activities/stores/fence.ts';
import { createSeals } from '../../activities/stores/seals.ts';
import { createAccepted } from '../../activities/stores/accepted-descriptions.ts';
import { createEnsureSubmitted } from '../../activities/submit-access-request.ts';
import { CountersignError } from '../../workflows/domain/errors.ts';
import type { EnsureSubmitted } from '../../workflows/domain/ports.ts';
import type { Upstreams } from '../../workflows/domain/upstream-ports.ts';
import { createResultCheck } from '../shared/schemas/schema-check.ts';
import { type Clock, systemClock } from '../shared/clock.ts';
import { CALLBACK_PATH, type Config } from '../shared/config/config.ts';
import type { Secrets } from '../shared/config/secrets.ts';
import { createPool, ROLES } from '../shared/database/pool.ts';
import { databaseNeed } from '../shared/database/readiness.ts';
import { given, runDeployable } from '../shared/deployable.ts';
import { isEntryScript, type Running, stopAll } from '../shared/lifecycle.ts';
import { limitsOf } from '../shared/limits.ts';
import { pdpNeed, startWatchingNeeds } from '../shared/needs.ts';
import { startOutbox } from '../shared/outbox.ts';
import { createEngineMemory } from '../shared/temporal/fence-mark.ts';
import { engineNeed } from '../shared/temporal/connection.ts';
import { createGatedCallWorkflows } from '../shared/temporal/gated-call-workflows.ts';
import { startWatchClocks } from './jobs/watch-clocks.ts';
import { outboxHandlers } from './jobs/deliver-outbox.ts';
import { startRestartLost } from './jobs/restart-lost.ts';
import { startWatchRestores } from './jobs/watch-restores.ts';
import { startPollResolutions } from './jobs/poll-resolutions.ts';
import { startExpiry } from '../shared/maintenance/expire.ts';
import { connectEngine, runWorker } from '../shared/temporal/worker.ts';

/** The engine writes entries that arrive together in one batch, so this many cost little. */
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

/** The worker's connections, which `close` closes. The upstreams are not among them: the caller closes those. */
export type WorkerConnections = Awaited<ReturnType<typeof connectWorker>>;

/**
 * The worker runs the workflows and activities of gated calls, delivers the outbox, and enforces deadlines. Any number of
 * workers may run at once.
 */
export async function startWorker(config: Config, secrets: WorkerSecrets, deps: WorkerDeps): Promise<Running> {
  return startWorkerOn(config, await connectWorker(config, secrets, deps));
}

/** Makes the connections of the worker. Rejects when Temporal cannot be reached. Contacts all others when they are needed. */
export async function connectWorker(config: Config, secrets: WorkerSecrets, deps: WorkerDeps) {
  const own = { log: deps.log, clock: deps.clock, limits: limitsOf(config) };
  const pool = createPool(deps.databaseUrl, {
    applicationName: 'countersign worker',
    role: ROLES.worker,
    durable: config.mode === 'production',
    ...own,
  });
  const seals = createSeals(secrets);
  const { authority: reached, obligations } = config;
  const { pdpProblem, ...authority } = connectAuthority(reached, secrets, { pool, seals, obligations, ...own });
  // Last, since a setting that cannot be used would leave it open.
  const engine = await connectEngine({ ...config.temporal, address: deps.temporalAddress }, own.log);
  return {
    ...deps,
    limits: own.limits,
    pool,
    store: createLifecycleStore(pool, {
      ...{ seals, clock: own.clock },
      retentionMs: config.gateway.resultRetentionSeconds * 1_000,
      approvalUseMs: config.worker.approvalUseSeconds * 1_000,
    }),
    dueCalls: { ...createDueCalls(pool), rewrap: (limit: number) => rewrapDataKeys(pool, seals, limit) },
    duePolls: createDuePolls(pool, {
      minMs: config.worker.resolutionPollMinSeconds * 1_000,
      maxMs: config.worker.resolutionPollMaxSeconds * 1_000,
    }),
    sealingKeyIds: secrets.sealingKeys.map(({ kid }) => kid),
    requestForms: createRequestForms(own.log, own),
    ...authority,
    needs: [databaseNeed(pool), pdpNeed(pdpProblem), engineNeed(engine.client, config.temporal, own)],
    clocks: { database: () => readDatabaseClock(pool), accessRequests: authority.accessRequestsClock },
    acceptedTools: createAccepted(pool),
    requirements: createRequirementChecks(config.requirements, own),
    engine,
    workflows: createGatedCallWorkflows(engine.client, {
      ...{ taskQueue: config.temporal.taskQueue, isWorker: true, ...own },
    }),
    engineMemory: createEngineMemory(engine.client, own),
    close: () =>
      stopAll([
        { name: 'database pool', stop: () => pool.end() },
        { name: 'Temporal connection', stop: () => engine.close() },
      ]),
  };
}

/** Starts the worker on these connections. Closes them when it stops or cannot start. */
export async function startWorkerOn(config: Config, connections: WorkerConnections): Promise<Running> {
  const { pool, store, accessRequests, workflows, clock, limits, log } = connections;
  const ensureSubmitted = createEnsureSubmitted(connections);
  const parts: Running[] = [{ name: 'connections', stop: () => connections.close() }];
  try {
    await reportMissingKeys(connections);
    const clocks = startWatchClocks({ clocks: connections.clocks, clock, log });
    const restores = startWatchRestores({ fence: createFence(pool), engine: connections.engineMemory, clock, log });
    parts.push(
      clocks,
      restores,
      startWatchingNeeds(connections),
      ...startMaintenance(config, { ...connections, ensureSubmitted, restores }),
    );
    const activities = createActivities({
      ...{ ...connections, ensureSubmitted, clocksAgree: clocks.agree, restores },
      settings: {
        executionTimeoutMs: executionTimeoutMs(config),
        callbackUrl: `${config.urls.gateway}${CALLBACK_PATH}`,
        maxGenerations: config.worker.maxGenerations,
        claimsAtOnce: config.worker.claimsAtOnce,
        outcomeProbes: config.outcomeProbes,
      },
    });
    const temporal = { ...config.temporal, address: connections.temporalAddress };
    const { taskQueue } = temporal;
    const { connection } = connections.engine;
    const graceMs = executionTimeoutMs(config);
    parts.push(await runWorker({ connection, temporal, taskQueue, activities, graceMs, clock, log }));
    const handlers = {
      ...outboxHandlers({ workflows, calls: store, accessRequests, log }),
      // A denial's obligation may have no gated call.
      deliver_obligation: connections.deliverObligation,
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
  // If the process ends before a tool answers, the outcome of the call is unknown.
  return { name: 'worker', stopMs: executionTimeoutMs(config) + limits.stopMs, stop: () => stopAll(parts) };
}

const executionTimeoutMs = ({ gateway }: Config) => gateway.executionTimeoutSeconds * 1_000;

/** The periodic jobs beside the workflows. They go on while the engine is away. */
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
      calls: createOpenCalls(pool),
      progress: store.progress,
      report: (id) => parts.restores.report(id),
      intervalMs: worker.reconcileIntervalSeconds * 1_000,
      ...{ workflows, clock, log },
    }),
  ];
}

/** Raises an alarm for each missing sealing key. Calls that are sealed under it wait, and all others go on. */
async function reportMissingKeys({ pool, sealingKeyIds, log }: WorkerConnections): Promise<void> {
  try {
    for (const missing of await missingSealingKeys(pool, sealingKeyIds)) {
      const nextStep = 'add the key after the current one, and start the worker again';
      log.error({ alarm: 'sealing_key_missing', ...missing }, `open calls wait for a sealing key: ${nextStep}`);
    }
  } catch (error) {
    if (!(error instanceof CountersignError) || !error.retryable) throw error;
    // If a key is missing, each call that waits for it raises the alarm later.
    log.warn({ err: error }, 'the sealing keys cannot be compared with the database yet');
  }
}

if (isEntryScript(import.meta.url)) {
  await runDeployable('worker', WORKER_SECRETS, systemClock, async ({ config, secrets, ...deps }) => {
    const temporalAddress = given(config.temporal.address, 'TEMPORAL_ADDRESS');
    const limits = limitsOf(config);
    const known = { settings: config.tools, fitsOutput: createResultCheck(limits) };
    const upstreams = createUpstreams(config.mcpServers, deps.log, { ...known, clock: deps.clock, limits });
    deps.live?.follow(async (next) => ({ commit: () => upstreams.reconfigure(next.mcpServers, next.tools) }));
    const worker = await startWorker(config, secrets, { ...deps, temporalAddress, upstreams });
    return { ...worker, stop: () => stopAll([{ name: 'upstreams', stop: () => upstreams.close() }, worker]) };
  });
}
