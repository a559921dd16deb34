import type { Logger } from 'pino';
import { createResultCheck } from '../shared/schemas/schema-check.ts';
import { connectAuthority, examineAuthority as examine } from '../../activities/clients/authority.ts';
import { asProblem, type PdpProblem } from '../../activities/clients/pdp/check.ts';
import { createRequestForms } from '../../activities/clients/access-requests/forms.ts';
import { createRequirementChecks } from '../../activities/clients/requirements.ts';
import {
  createUpstreams,
  examineUpstreams as examineEach,
  type UpstreamPool,
} from '../../activities/clients/upstream/pool.ts';
import { rewrapDataKeys } from '../../activities/stores/key-ring.ts';
import { createDueCalls } from '../../activities/stores/due-calls.ts';
import { createGatedCallStore } from '../../activities/stores/gated-call.store.ts';
import { createLifecycleStore } from '../../activities/stores/lifecycle.store.ts';
import { createSeals } from '../../activities/stores/seals.ts';
import { createDescriptionStore } from '../../activities/stores/accepted-descriptions.ts';
import { createEnsureSubmitted } from '../../activities/submit-access-request.ts';
import { createTokenVerifier, type TokenVerifier } from '../shared/auth/access-token.ts';
import { mcpAudience } from '../shared/auth/client-credentials.ts';
import { type Clock, systemClock } from '../shared/clock.ts';
import type { Config } from '../shared/config/config.ts';
import type { LiveConfig } from '../shared/config/live.ts';
import type { Secrets } from '../shared/config/secrets.ts';
import { createPool, ROLES } from '../shared/database/pool.ts';
import { databaseNeed } from '../shared/database/readiness.ts';
import { runDeployable } from '../shared/deployable.ts';
import { openTo } from '../shared/http/address-limit.ts';
import { listen } from '../shared/http/listen.ts';
import { isEntryScript, type Running, stopAll } from '../shared/lifecycle.ts';
import { limitsOf } from '../shared/limits.ts';
import { startExpiry } from '../shared/maintenance/expire.ts';
import { type Need, pdpNeed, startWatchingNeeds } from '../shared/needs.ts';
import { workerNeed } from '../shared/outbox.ts';
import { receiveCallback } from './tasks/callbacks.ts';
import { serveHeldCallPage } from './tasks/held-call-page.ts';
import { answerPreviewQuestions } from './tasks/previews.ts';
import { createGatewayApp } from './mcp/http.ts';
import { createSealedStates } from './extensions/sealed-state.ts';
import { createTaskChanges } from './tasks/watch.ts';
import { createProtocol, type ProtocolPorts } from './mcp/server.ts';
import { createRedaction } from './extensions/redaction.ts';
import { createDocument, createOperator, offeredBy, type Operator } from './extensions/signature.ts';
import { createAcceptedDescriptions } from './offers/accepted-descriptions.ts';

/** The secrets that the gateway holds. */
export const GATEWAY_SECRETS = [
  'pdpToken',
  'accessRequestToken',
  'callbackSecret',
  'sealingKeys',
  'recordSealingKeys',
  'digestKey',
] as const;
type GatewaySecrets = Pick<Secrets, (typeof GATEWAY_SECRETS)[number]>;

export interface GatewayDeps {
  readonly databaseUrl: string;
  readonly clock: Clock;
  readonly log: Logger;
  /**
   * Connections shared with a worker of the same process, which follow the configuration. Default: the gateway's own, closed when it
   * stops.
   */
  readonly upstreams?: UpstreamPool;
  /** Changes of the configuration while the process runs. Default: it never changes. */
  readonly live?: LiveConfig | undefined;
}

/** The ports of the gateway. */
export interface GatewayPorts extends ProtocolPorts {
  readonly upstreams: UpstreamPool;
  readonly verifier: TokenVerifier;
  /** What the gateway needs. Default: nothing. */
  readonly needs?: readonly Need[];
}

export type GatewayConnections = ReturnType<typeof connectGateway>;

type Own = Pick<GatewayDeps, 'log' | 'clock'>;

/**
 * The configured upstreams, which follow changes of their settings. Gateway and worker of one process share them. The caller closes them.
 */
export function connectUpstreams(config: Config, { log, clock, live }: Own & Pick<GatewayDeps, 'live'>): UpstreamPool {
  const limits = limitsOf(config);
  const known = { settings: config.tools, fitsOutput: createResultCheck(limits) };
  const pool = createUpstreams(config.mcpServers, log, { ...known, clock, limits });
  const leave = live?.follow(async (next) => ({ commit: () => pool.reconfigure(next.mcpServers, next.tools) }));
  return {
    ...pool,
    close() {
      leave?.();
      return pool.close();
    },
  };
}

/** Whether each configured upstream can be used. Opens its own connections. */
export const examineUpstreams = (config: Config, { log, clock }: Own) =>
  examineEach(config.mcpServers, log, { clock, limits: limitsOf(config) });

/**
 * The signature as the operator reads and accepts it. Needs the database role that owns the tables. The caller closes it, and the upstreams
 * that it lends.
 */
export function openSignature(
  config: Config,
  { databaseUrl, upstreams: lent, ...own }: Own & Pick<GatewayDeps, 'databaseUrl' | 'upstreams'>,
): Operator & { close(): Promise<void> } {
  const limits = limitsOf(config);
  const pool = createPool(databaseUrl, { applicationName: 'countersign signature', max: 2, limits });
  const upstreams = lent ?? connectUpstreams(config, own);
  return {
    ...createOperator({ config, store: createDescriptionStore(pool), upstreams }),
    async close() {
      if (lent === undefined) await upstreams.close();
      await pool.end();
    },
  };
}

/** Rejects with the listen error when the port is taken. */
export function startGateway(config: Config, secrets: GatewaySecrets, deps: GatewayDeps): Promise<Running> {
  return startGatewayOn(config, secrets, connectGateway(config, secrets, deps));
}

/** The real ports of the gateway. They contact other services only when they are used. The caller closes them. */
export function connectGateway(config: Config, secrets: GatewaySecrets, deps: GatewayDeps) {
  const own = { log: deps.log, clock: deps.clock, limits: limitsOf(config) };
  const { gateway, authority, obligations } = config;
  const pool = createPool(deps.databaseUrl, {
    applicationName: 'countersign gateway',
    role: ROLES.gateway,
    durable: config.mode === 'production',
    ...own,
  });
  const seals = createSeals(secrets);
  const upstreams = deps.upstreams ?? connectUpstreams(config, deps);
  const retentionMs = gateway.resultRetentionSeconds * 1_000;
  const accepted = createAcceptedDescriptions({
    store: createDescriptionStore(pool),
    pinning: config.signature.pinning,
    offered: () => offeredBy(upstreams),
    settings: config,
    listenUrl: deps.databaseUrl,
    ...own,
  });
  const leave = deps.live?.follow(async () => ({ commit: () => accepted.settingsChanged() }));
  const { pdpProblem, ...reached } = connectAuthority(authority, secrets, { pool, seals, obligations, ...own });
  return {
    ...reached,
    gatedCalls: createGatedCallStore(pool, { seals, retentionMs, ...callOptionsOf(config), ...own }),
    taskChanges: createTaskChanges(deps.databaseUrl, own),
    accepted,
    live: deps.live,
    store: createLifecycleStore(pool, { seals, retentionMs, ...own }),
    dueCalls: { ...createDueCalls(pool), rewrap: (limit: number) => rewrapDataKeys(pool, seals, limit) },
    upstreams,
    requirements: createRequirementChecks(config.requirements, own),
    requestForms: createRequestForms(own.log, own),
    sealedStates: createSealedStates(secrets.sealingKeys, own.clock, gateway.taskOwner),
    sessionSeals: createSealedStates(secrets.sealingKeys, own.clock),
    verifier: createTokenVerifier(config, mcpAudience(config), own),
    needs: [databaseNeed(pool), pdpNeed(pdpProblem), workerNeed(pool)],
    ...own,
    async close() {
      leave?.();
      if (deps.upstreams === undefined) await upstreams.close();
      await pool.end();
    },
  };
}

/** How long calls wait, and how many may be open. */
const callOptionsOf = ({ gateway, worker }: Config) => ({
  requestTtlMs: gateway.requestTtlSeconds * 1_000,
  firstPollMs: worker.resolutionPollMinSeconds * 1_000,
  taskOwner: gateway.taskOwner,
  maxOpenPerCaller: gateway.maxOpenPerCaller,
  maxOpenPerSubject: gateway.maxOpenPerSubject ?? gateway.maxOpenPerCaller,
  unreadMs: gateway.unreadOutcomeSeconds * 1_000,
});

/** Starts the gateway on these connections. Closes them when it stops, or when it does not start. */
export async function startGatewayOn(
  config: Config,
  secrets: Pick<GatewaySecrets, 'callbackSecret'>,
  connections: GatewayConnections,
): Promise<Running> {
  const { store, dueCalls, clock, log } = connections;
  const parts: Running[] = [{ name: 'connections', stop: () => connections.close() }];
  try {
    const ensureSubmitted = createEnsureSubmitted(connections);
    parts.push(connections.taskChanges.start(), connections.accepted.start(), startWatchingNeeds(connections));
    parts.push(await serveGateway(config, secrets, { ...connections, ensureSubmitted }));
    // Workers carry out deadlines as well. A deadline holds without a worker.
    parts.push(
      startExpiry({
        calls: { ...dueCalls, expire: store.expire, end: store.end },
        intervalMs: config.worker.sweepIntervalMs,
        abandonAfterMs: config.worker.abandonAfterSeconds * 1_000,
        ...{ clock, log },
      }),
    );
  } catch (error) {
    await stopAll(parts);
    throw error;
  }
  if (config.pdp.url !== undefined) void reportPdpProblems(connections, config.pdp.url);
  return { name: 'gateway', stop: () => stopAll(parts) };
}

/**
 * Logs the problems of a PDP that is not the embedded one. A PDP that does not answer yet may start after the gateway; until
 * then no call is allowed. Never rejects.
 */
async function reportPdpProblems(
  { check, log }: Pick<GatewayConnections, 'check' | 'log'>,
  url: string,
): Promise<void> {
  if (url.startsWith('http:')) log.warn({ url }, 'calls are sent to the policy decision point over plain http');
  try {
    const problems = await check();
    for (const { weight, what, nextStep } of problems) {
      const message = `the policy decision point: ${what}. Next: ${nextStep}`;
      if (weight === 'fatal') log.error({ alarm: 'pdp_misconfigured' }, message);
      else log.warn(message);
    }
    if (problems.length === 0) log.info({ url }, 'the policy decision point is fit for use');
  } catch (error) {
    log.warn({ err: error }, 'the policy decision point cannot be used yet; no call is allowed until it can');
  }
}

/** Probes of the PDP and of the access request service, for `countersign doctor`. A PDP that cannot be used is a problem too. */
export function examineAuthority(config: Config, { pdpToken }: Pick<GatewaySecrets, 'pdpToken'>, own: Own) {
  const examined = examine(config.authority, pdpToken, { ...own, limits: limitsOf(config) });
  return {
    pdp: (): Promise<readonly PdpProblem[]> => examined.check().catch((error: unknown) => [asProblem(error)]),
    accessRequests: () => examined.accessRequestsClock(),
  };
}

/** Serves the gateway from these ports. */
export async function serveGateway(
  config: Config,
  { callbackSecret }: Pick<GatewaySecrets, 'callbackSecret'>,
  ports: GatewayPorts,
): Promise<Running> {
  const { upstreams, accepted, verifier, clock, limits, log } = ports;
  const redaction = createRedaction(config.gateway.redactAbove, config);
  const gatedCalls = redaction.ofTasks(ports.gatedCalls, { upstreams, accepted });
  const readDocument = createDocument(accepted, redaction, config.gateway);
  const protocol = createProtocol(config, { ...ports, gatedCalls, redaction, readDocument });
  // Starts the upstreams before the first call needs them. An upstream that cannot be reached is tried again later.
  upstreams.tools().catch((error: unknown) => log.warn({ err: error }, 'the upstreams cannot be listed yet'));
  const forgetChanges = [
    upstreams.onChange((what) => protocol.notify(what)),
    accepted.onChange((what) => {
      upstreams.outdate();
      protocol.notify(what);
    }),
  ];
  const app = createGatewayApp({
    config,
    endpoint: protocol.endpoint,
    readDocument,
    verifier,
    needs: ports.needs,
    receiveCallback: receiveCallback({ gatedCalls, callbackSecret, log }),
    ...(config.gateway.heldCallPage !== 'off' && { serveHeldCallPage: serveHeldCallPage({ gatedCalls }) }),
    answerPreviewQuestions: answerPreviewQuestions({ gatedCalls, previews: protocol.previews, callbackSecret, log }),
    ...{ clock, limits, log },
  });
  const http = await listen(app, openTo(config, config.gateway, { clock, limits, log }));
  log.info({ url: config.urls.mcp }, 'the gateway is listening');
  return {
    name: 'gateway',
    async stop() {
      for (const forget of forgetChanges) forget();
      const closed = http.close();
      // A stream does not end by itself. Other requests in flight may finish first.
      protocol.endStreams();
      await closed;
      await protocol.close();
    },
  };
}

if (isEntryScript(import.meta.url)) {
  await runDeployable('gateway', GATEWAY_SECRETS, systemClock, ({ config, secrets, ...deps }) =>
    startGateway(config, secrets, deps),
  );
}
