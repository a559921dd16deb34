import type { Logger } from 'pino';
import { createActivities } from '../../activities/index.ts';
import { createAccessRequestClient } from '../../activities/clients/access-request-service.ts';
import { createPolicyDecisionPoint } from '../../activities/clients/pdp.ts';
import { createDueCalls } from '../../activities/stores/due-calls.ts';
import { createLifecycleStore } from '../../activities/stores/lifecycle.store.ts';
import type { Upstreams } from '../../workflows/domain/ports.ts';
import type { Config } from '../shared/config/config.ts';
import type { Secrets } from '../shared/config/secrets.ts';
import { createPool } from '../shared/database/pool.ts';
import type { Running } from '../shared/lifecycle.ts';
import { startOutbox } from '../shared/outbox.ts';
import { createTemporalClient } from '../shared/temporal/connection.ts';
import { createGatedCallWorkflows } from '../shared/temporal/gated-call-workflows.ts';
import { outboxHandlers } from './maintenance/outbox-handlers.ts';
import { startSweeper } from './maintenance/sweeper.ts';
import { runWorker } from './worker.ts';

/** Starts per second cost more than their worth to the engine; a short queue leaves the processor to opening calls. */
const OUTBOX_CONCURRENCY = 8;

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
export async function startWorker(config: Config, secrets: Secrets, deps: WorkerDeps): Promise<Running> {
  const { log } = deps;
  const temporal = { ...config.temporal, address: deps.temporalAddress };
  const pool = createPool(deps.databaseUrl, { applicationName: 'countersign worker' });
  const store = createLifecycleStore(pool, { retentionMs: config.gateway.resultRetentionSeconds * 1_000 });
  const accessRequests = createAccessRequestClient({
    serviceUrl: config.urls.accessRequests,
    token: secrets.accessRequestToken,
  });
  const activities = createActivities({
    store,
    accessRequests,
    pdp: createPolicyDecisionPoint({
      pdpUrl: config.urls.pdp,
      token: secrets.pdpToken,
      accessRequestsUrl: config.urls.accessRequests,
      log,
    }),
    upstreams: deps.upstreams,
    log,
    settings: {
      pollMinMs: config.worker.resolutionPollMinSeconds * 1_000,
      pollMaxMs: config.worker.resolutionPollMaxSeconds * 1_000,
      executionTimeoutMs: config.gateway.executionTimeoutSeconds * 1_000,
    },
  });
  const engine = createTemporalClient(temporal);
  const started: Running[] = [];
  const stop = async () => {
    for (const part of started.reverse()) await part.stop();
    await engine.close();
    await pool.end();
  };
  try {
    started.push(
      startSweeper({
        calls: { ...createDueCalls(pool), expire: store.expire, end: store.end },
        intervalMs: config.worker.sweepIntervalMs,
        abandonAfterMs: config.worker.abandonAfterSeconds * 1_000,
        log,
      }),
    );
    started.push(await runWorker(temporal, activities));
    started.push(
      await startOutbox({
        pool,
        listenUrl: deps.databaseUrl,
        schema: 'gateway',
        channel: 'gateway_outbox',
        handlers: outboxHandlers({
          workflows: createGatedCallWorkflows(engine.client, temporal.taskQueue),
          calls: store,
          accessRequests,
        }),
        concurrency: OUTBOX_CONCURRENCY,
        log,
      }),
    );
  } catch (error) {
    await stop();
    throw error;
  }
  return { name: 'worker', stop };
}
