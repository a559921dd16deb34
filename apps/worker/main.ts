import type { Logger } from 'pino';
import { createActivities } from '../../activities/index.ts';
import { createAccessRequestClient } from '../../activities/clients/access-request-service.ts';
import { createPolicyDecisionPoint } from '../../activities/clients/pdp.ts';
import { createUpstreams } from '../../activities/clients/upstream.ts';
import { checkSealingKeys, rewrapDataKeys } from '../../activities/stores/data-keys.ts';
import { createDueCalls } from '../../activities/stores/due-calls.ts';
import { createOpenCalls } from '../../activities/stores/open-calls.ts';
import { createLifecycleStore } from '../../activities/stores/lifecycle.store.ts';
import { createSeals } from '../../activities/stores/seals.ts';
import { createEnsureSubmitted } from '../../activities/submit-access-request.ts';
import type { Upstreams } from '../../workflows/domain/ports.ts';
import { CALLBACK_PATH, type Config } from '../shared/config/config.ts';
import type { Secrets } from '../shared/config/secrets.ts';
import { createPool } from '../shared/database/pool.ts';
import { given, runDeployable } from '../shared/deployable.ts';
import { isEntryScript, stopAll, type Running } from '../shared/lifecycle.ts';
import { startOutbox } from '../shared/outbox.ts';
import { createTemporalClient } from '../shared/temporal/connection.ts';
import { createGatedCallWorkflows } from '../shared/temporal/gated-call-workflows.ts';
import { outboxHandlers } from './maintenance/outbox-handlers.ts';
import { startReconciler } from './maintenance/reconciler.ts';
import { startSweeper } from './maintenance/sweeper.ts';
import { runWorker } from './worker.ts';

/** Few, because starting workflows is work for Temporal that nobody waits for; it leaves the processor to those who do. */
const OUTBOX_CONCURRENCY = 4;

const WORKER_SECRETS = ['pdpToken', 'accessRequestToken', 'sealingKeys', 'digestKey'] as const;
type WorkerSecrets = Pick<Secrets, (typeof WORKER_SECRETS)[number]>;

export interface WorkerDeps {
  readonly databaseUrl: string;
  readonly temporalAddress: string;
  readonly upstreams: Upstreams;
  readonly log: Logger;
}

/**
 * The worker: runs the workflows and activities of gated calls, hands out the outbox and carries deadlines out. Any
 * number may run at once.
 */
export async function startWorker(config: Config, secrets: WorkerSecrets, deps: WorkerDeps): Promise<Running> {
  const pool = createPool(deps.databaseUrl, {
    applicationName: 'countersign worker',
    role: 'countersign_enforcement',
    durable: config.mode === 'production',
  });
  const temporal = { ...config.temporal, address: deps.temporalAddress };
  const engine = createTemporalClient(temporal);
  const seals = createSeals({ keys: secrets.sealingKeys, digestKey: secrets.digestKey });
  const store = createLifecycleStore(pool, {
    seals,
    retentionMs: config.gateway.resultRetentionSeconds * 1_000,
  });
  const ports = clients(config, secrets, deps.log);
  const ensureSubmitted = createEnsureSubmitted({ store, accessRequests: ports.accessRequests });
  const activities = createActivities({
    ...ports,
    ...deps,
    store,
    ensureSubmitted,
    settings: activitySettings(config),
  });
  const parts: Running[] = [
    { name: 'database pool', stop: () => pool.end() },
    { name: 'Temporal client', stop: () => engine.close() },
  ];
  try {
    await checkSealingKeys(
      pool,
      secrets.sealingKeys.map(({ kid }) => kid),
    );
    parts.push(
      startSweeper({
        calls: {
          ...createDueCalls(pool),
          rewrap: (limit) => rewrapDataKeys(pool, seals, limit),
          expire: store.expire,
          end: store.end,
        },
        intervalMs: config.worker.sweepIntervalMs,
        abandonAfterMs: config.worker.abandonAfterSeconds * 1_000,
        log: deps.log,
      }),
    );
    parts.push(await runWorker(temporal, activities, deps.log));
    const firstLookMs = config.worker.resolutionPollMinSeconds * 1_000;
    const workflows = createGatedCallWorkflows(engine.client, { taskQueue: temporal.taskQueue, firstLookMs });
    const handlers = outboxHandlers({ workflows, calls: store, accessRequests: ports.accessRequests });
    parts.push(
      await startOutbox({
        ...{ pool, listenUrl: deps.databaseUrl, schema: 'gateway', channel: 'gateway_outbox' },
        ...{ handlers, concurrency: OUTBOX_CONCURRENCY, log: deps.log },
      }),
    );
    parts.push(
      startReconciler({
        ...{ workflows, calls: createOpenCalls(pool), spreadMs: firstLookMs, log: deps.log },
        intervalMs: config.worker.reconcileIntervalSeconds * 1_000,
      }),
    );
  } catch (error) {
    await stopAll(parts);
    throw error;
  }
  deps.log.info('the worker is running');
  return { name: 'worker', stop: () => stopAll(parts) };
}

function clients(config: Config, secrets: WorkerSecrets, log: Logger) {
  const { accessRequests, pdp } = config.urls;
  return {
    accessRequests: createAccessRequestClient({ serviceUrl: accessRequests, token: secrets.accessRequestToken }),
    pdp: createPolicyDecisionPoint({ pdpUrl: pdp, token: secrets.pdpToken, accessRequestsUrl: accessRequests, log }),
  };
}

function activitySettings({ worker, gateway, urls, outcomeProbes }: Config) {
  return {
    pollMinMs: worker.resolutionPollMinSeconds * 1_000,
    pollMaxMs: worker.resolutionPollMaxSeconds * 1_000,
    executionTimeoutMs: gateway.executionTimeoutSeconds * 1_000,
    accessRequestsUrl: urls.accessRequests,
    callbackUrl: `${urls.gateway}${CALLBACK_PATH}`,
    maxGenerations: worker.maxGenerations,
    outcomeProbes,
  };
}

if (isEntryScript(import.meta.url)) {
  await runDeployable('worker', WORKER_SECRETS, async ({ config, secrets, ...deps }) => {
    const temporalAddress = given(config.temporal.address, 'TEMPORAL_ADDRESS');
    const upstreams = createUpstreams(config.mcpServers, deps.log);
    const worker = await startWorker(config, secrets, { ...deps, temporalAddress, upstreams });
    return { name: 'worker', stop: () => stopAll([{ name: 'upstreams', stop: () => upstreams.close() }, worker]) };
  });
}
