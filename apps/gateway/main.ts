import { createMcpHandler } from '@modelcontextprotocol/server';
import type { Logger } from 'pino';
import { createAccessRequestClient } from '../../activities/clients/access-request-service.ts';
import { checkPolicyDecisionPoint } from '../../activities/clients/pdp-check.ts';
import { createPolicyDecisionPoint } from '../../activities/clients/pdp.ts';
import { createRequirementChecks } from '../../activities/clients/requirements.ts';
import type { Changed } from '../../activities/clients/upstream-notices.ts';
import { createUpstreams, type UpstreamPool } from '../../activities/clients/upstream.ts';
import { rewrapDataKeys } from '../../activities/stores/data-keys.ts';
import { createDueCalls } from '../../activities/stores/due-calls.ts';
import { createGatedCallStore } from '../../activities/stores/gated-call.store.ts';
import { createLifecycleStore, type LifecycleStore } from '../../activities/stores/lifecycle.store.ts';
import { createSeals } from '../../activities/stores/seals.ts';
import { createEnsureSubmitted } from '../../activities/submit-access-request.ts';
import type {
  AccessRequestService,
  EnsureSubmitted,
  GatedCalls,
  PolicyDecisionPoint,
} from '../../workflows/domain/ports.ts';
import type { RequirementChecks } from '../../workflows/domain/tools/requirements.ts';
import { createTokenVerifier } from '../shared/auth/token-verifier.ts';
import { CALLBACK_PATH, type Config } from '../shared/config/config.ts';
import type { Secrets } from '../shared/config/secrets.ts';
import { createPool } from '../shared/database/pool.ts';
import { runDeployable } from '../shared/deployable.ts';
import { listen } from '../shared/http/listen.ts';
import { isEntryScript, stopAll, type Running } from '../shared/lifecycle.ts';
import { startSweeper } from '../shared/maintenance/sweeper.ts';
import { receiveCallback } from './callbacks.ts';
import type { TokenVerifier } from './caller.ts';
import { createEnforcement } from './enforce.ts';
import { createReadEnforcement } from './enforce-read.ts';
import { createFront, type Front } from './front.ts';
import { createGatewayApp } from './http.ts';
import { createSubscriptions } from './listen/subscriptions.ts';
import { createTaskChanges, type TaskChanges } from './listen/task-changes.ts';
import { createRateLimit } from './rate-limit.ts';
import { createRedaction, type Redaction } from './redaction.ts';
import { createServer } from './server.ts';
import { createArgumentCheck } from './tools/argument-check.ts';

/** The secrets that the gateway holds. */
export const GATEWAY_SECRETS = [
  'pdpToken',
  'accessRequestToken',
  'callbackSecret',
  'sealingKeys',
  'digestKey',
] as const;
type GatewaySecrets = Pick<Secrets, (typeof GATEWAY_SECRETS)[number]>;

export interface GatewayDeps {
  readonly databaseUrl: string;
  readonly log: Logger;
  /** Connections shared with a worker of the same process. Default: the gateway's own, closed when it stops. */
  readonly upstreams?: UpstreamPool;
}

/** The ports that the gateway serves from. */
export interface GatewayPorts {
  readonly pdp: PolicyDecisionPoint;
  readonly gatedCalls: GatedCalls;
  readonly taskChanges: TaskChanges;
  readonly ensureSubmitted: EnsureSubmitted;
  readonly upstreams: UpstreamPool;
  readonly requirements: RequirementChecks;
  readonly verifier: TokenVerifier;
  readonly log: Logger;
}

/** What the gateway reaches the world through. Whoever makes them closes them. */
export interface GatewayConnections extends Omit<GatewayPorts, 'ensureSubmitted'> {
  readonly taskChanges: ReturnType<typeof createTaskChanges>;
  readonly store: LifecycleStore;
  readonly dueCalls: ReturnType<typeof createDueCalls> & { rewrap(limit: number): Promise<number> };
  readonly accessRequests: AccessRequestService;
  close(): Promise<void>;
}

/** The configured upstreams, for gateway and worker of one process to share. Whoever connects them closes them. */
export const connectUpstreams = (config: Config, log: Logger): UpstreamPool =>
  createUpstreams(config.mcpServers, log, config.tools);

/** Starts the gateway on its real parts. Rejects with the listen error when the port is taken. */
export function startGateway(config: Config, secrets: GatewaySecrets, deps: GatewayDeps): Promise<Running> {
  return startGatewayOn(config, secrets, connectGateway(config, secrets, deps));
}

/** The real parts behind the gateway. Nothing is contacted before it is needed. */
export function connectGateway(config: Config, secrets: GatewaySecrets, deps: GatewayDeps): GatewayConnections {
  const { log } = deps;
  const { urls, gateway } = config;
  const pool = createPool(deps.databaseUrl, {
    applicationName: 'countersign gateway',
    role: 'countersign_enforcement',
    durable: config.mode === 'production',
  });
  const seals = createSeals({ keys: secrets.sealingKeys, digestKey: secrets.digestKey });
  const upstreams = deps.upstreams ?? connectUpstreams(config, log);
  const retentionMs = gateway.resultRetentionSeconds * 1_000;
  return {
    pdp: createPolicyDecisionPoint({
      pdpUrl: urls.pdp,
      accessRequestsUrl: urls.accessRequests,
      token: secrets.pdpToken,
      log,
    }),
    gatedCalls: createGatedCallStore(pool, {
      seals,
      requestTtlMs: gateway.requestTtlSeconds * 1_000,
      firstLookMs: config.worker.resolutionPollMinSeconds * 1_000,
      retentionMs,
      maxOpenPerCaller: gateway.maxOpenPerCaller,
    }),
    taskChanges: createTaskChanges(deps.databaseUrl, log),
    store: createLifecycleStore(pool, { seals, retentionMs }),
    dueCalls: { ...createDueCalls(pool), rewrap: (limit) => rewrapDataKeys(pool, seals, limit) },
    accessRequests: createAccessRequestClient({ serviceUrl: urls.accessRequests, token: secrets.accessRequestToken }),
    upstreams,
    requirements: createRequirementChecks(config.requirements, log),
    verifier: createTokenVerifier(config, urls.mcp),
    log,
    async close() {
      if (deps.upstreams === undefined) await upstreams.close();
      await pool.end();
    },
  };
}

/** Starts the gateway on these connections, and closes them when it stops or does not start. */
export async function startGatewayOn(
  config: Config,
  secrets: Pick<GatewaySecrets, 'callbackSecret'>,
  connections: GatewayConnections,
): Promise<Running> {
  const { pdp, store, dueCalls, log } = connections;
  const parts: Running[] = [{ name: 'connections', stop: () => connections.close() }];
  try {
    const ensureSubmitted = createEnsureSubmitted(connections);
    parts.push(connections.taskChanges.start());
    parts.push(await serveGateway(config, secrets, { ...connections, ensureSubmitted }));
    // Workers carry deadlines out, too. What was promised of a deadline holds without them.
    parts.push(
      startSweeper({
        calls: { ...dueCalls, expire: store.expire, end: store.end },
        intervalMs: config.worker.sweepIntervalMs,
        abandonAfterMs: config.worker.abandonAfterSeconds * 1_000,
        log,
      }),
    );
  } catch (error) {
    await stopAll(parts);
    throw error;
  }
  const addresses = { pdpUrl: config.urls.pdp, accessRequestsUrl: config.urls.accessRequests };
  if (config.pdp.url !== undefined) void reportPdpProblems({ ...addresses, pdp }, log);
  return { name: 'gateway', stop: () => stopAll(parts) };
}

/** Says aloud what is wrong with a PDP that is not the embedded one. One that does not answer yet may start after us: until then nothing is allowed. */
async function reportPdpProblems(options: Parameters<typeof checkPolicyDecisionPoint>[0], log: Logger): Promise<void> {
  try {
    for (const problem of await checkPolicyDecisionPoint(options)) {
      log.error({ alarm: 'pdp_misconfigured', problem }, 'the policy decision point is not fit for use');
    }
  } catch (error) {
    log.warn({ err: error }, 'the policy decision point does not answer yet; no call is allowed until it does');
  }
}

/** Serves the gateway from these ports, whatever stands behind them. */
export async function serveGateway(
  config: Config,
  secrets: Pick<GatewaySecrets, 'callbackSecret'>,
  ports: GatewayPorts,
): Promise<Running> {
  const { upstreams, verifier, log } = ports;
  const redaction = createRedaction(config.gateway.redactAbove, config.tools, upstreams);
  const gatedCalls = redaction.ofTasks(ports.gatedCalls);
  const protocol = createProtocol(config, { ...ports, gatedCalls, redaction });
  // Starts the upstreams before the first call needs them; who cannot be reached now is tried again later.
  upstreams.tools().catch((error: unknown) => log.warn({ err: error }, 'the upstreams cannot be listed yet'));
  const forgetChanges = upstreams.onChange(protocol.changed);
  const app = createGatewayApp({
    config,
    front: protocol.front,
    verifier,
    receiveCallback: receiveCallback({ gatedCalls, callbackSecret: secrets.callbackSecret, log }),
    log,
  });
  const http = await listen(app, { host: config.host, port: config.gateway.port });
  log.info({ url: config.urls.mcp }, 'the gateway is listening');
  return {
    name: 'gateway',
    async stop() {
      forgetChanges();
      const closed = http.close();
      // Streams have no end of their own, and would be cut; what else is in flight is finished first.
      protocol.endStreams();
      await closed;
      await protocol.close();
    },
  };
}

/** The MCP endpoint behind its authentication. */
function createProtocol(config: Config, ports: GatewayPorts & { readonly redaction: Redaction }) {
  const { gateway, urls } = config;
  const { gatedCalls, taskChanges, upstreams, redaction, log } = ports;
  const settings = {
    accessRequestsUrl: urls.accessRequests,
    callbackUrl: `${urls.gateway}${CALLBACK_PATH}`,
    executionTimeoutMs: gateway.executionTimeoutSeconds * 1_000,
  };
  const enforce = createEnforcement({
    ...ports,
    checkArguments: createArgumentCheck(),
    submissions: createRateLimit({ count: gateway.maxSubmissionsPerMinute ?? gateway.maxOpenPerCaller, seconds: 60 }),
    settings,
  });
  const enforceRead = createReadEnforcement({ ...ports, items: upstreams.items, settings });
  const rendering = gateway;
  const handler = createMcpHandler(
    (context) => createServer({ enforce, enforceRead, gatedCalls, upstreams, redaction, rendering, log }, context),
    {
      maxRequestBodySize: gateway.maxBodyBytes,
      // Limited by us, for each caller too.
      maxSubscriptions: Infinity,
      onerror: (error) => log.debug({ err: error }, 'a request was refused by the protocol layer'),
    },
  );
  const limits = { perCaller: gateway.maxStreamsPerCaller, overall: gateway.maxStreams };
  const subscriptions = createSubscriptions({ gatedCalls, taskChanges, rendering, limits, log });
  const polls = createRateLimit({ count: gateway.maxPollsPerSecond, seconds: 1 });
  const front: Front = createFront({ handler, subscriptions, polls });
  return {
    front,
    changed: (what: Changed) => handler.notify[`${what}Changed`](),
    endStreams: () => subscriptions.close(),
    close: () => handler.close(),
  };
}

if (isEntryScript(import.meta.url)) {
  await runDeployable('gateway', GATEWAY_SECRETS, ({ config, secrets, ...deps }) =>
    startGateway(config, secrets, deps),
  );
}
