import { createRemoteJWKSet, type JWTVerifyGetKey } from 'jose';
import type { Logger } from 'pino';
import { connectForeignPdp } from '../../activities/clients/pdp/foreign-pdp.ts';
import { type Clock, systemClock } from '../shared/clock.ts';
import type { Config } from '../shared/config/config.ts';
import type { Secrets } from '../shared/config/secrets.ts';
import { createPool, ROLES } from '../shared/database/pool.ts';
import { databaseProblems } from '../shared/database/readiness.ts';
import { runDeployable } from '../shared/deployable.ts';
import { openTo } from '../shared/http/address-limit.ts';
import { listen } from '../shared/http/listen.ts';
import { startForgetting } from '../shared/maintenance/rounds.ts';
import { isEntryScript, type Running } from '../shared/lifecycle.ts';
import { limitsOf, type Timing } from '../shared/limits.ts';
import { createApprovalVerifier, createRevokedApprovals } from './approval/verify-approval.ts';
import { createDecide } from './decide.ts';
import { openDecisionLog } from './decision-log.ts';
import { openCedarEngine } from './engine/cedar/cedar-engine.ts';
import { foreignEngine } from './engine/foreign.ts';
import type { PolicyEngine } from './engine/policy-engine.ts';
import { createPdpApp } from './http/app.ts';
import {
  createLimits,
  enforcementPoints,
  pdpMetadata,
  publicKey,
  publishedKeys,
  withSignature,
} from './http/metadata.ts';
import { createBindingTokenSigner } from './offer/binding-token.ts';
import { requestCatalogs } from './offer/request-documents.ts';
import { createSearch } from './search.ts';
import { createEvaluationStore } from './stores/evaluation.store.ts';

export { describeProblem, type PolicyProblem } from './engine/cedar/problems.ts';
export type { PolicyPlaces } from './engine/cedar/policy-folder.ts';
export { shortVersion } from './engine/policy-engine.ts';
export { checkPolicies, type PolicyCheck } from './tools/test-policies.ts';
export { explainRequest, type Explanation } from './tools/explain.ts';
export { replayCalls, type ChangedCall, type ReplayCounts } from './tools/replay.ts';
export { surveyTools, type ToolSurvey } from './tools/survey.ts';
export { testPolicies, type PolicyTest } from './tools/test-policies.ts';

/** Room for the rest of an evaluation beside the largest arguments that the gateway accepts. */
const ENVELOPE_BYTES = 256 * 1024;
/** Everything secret that this part may know: no other key or token of either side. */
const SECRETS = ['pdpToken', 'pdpSigningKey'] as const;

/** As long as the access request service allows to cache its keys. */
const KEYS_CACHED_MS = 300_000;

/** The keys that sign approvals. An unknown key makes the PDP fetch them anew, at most twice a minute (ARAP-DIS-09). */
const approvalKeys = ({ approvals }: Config['keyUrls'], { approvalKeysMs }: Timing['limits']) =>
  createRemoteJWKSet(new URL(approvals), { timeoutDuration: approvalKeysMs, cacheMaxAge: KEYS_CACHED_MS });

/** An approval counts if the access request service has signed it and has not revoked it. */
function approvalVerifier({ urls, pdp }: Config, keys: JWTVerifyGetKey, time: Timing) {
  const issuer = urls.accessRequests;
  const revoked = createRevokedApprovals({ url: `${urls.approvals}/access/v1/revocations`, issuer, keys, ...time });
  return createApprovalVerifier({
    issuers: new Map([[issuer, keys]]),
    audience: urls.pdp,
    clock: time.clock,
    revoked: pdp.checkRevocations ? revoked : () => Promise.resolve(new Set()),
  });
}

/** The decision point, and a way to read again everything that can change while it runs. */
export interface RunningPdp extends Running {
  /** Reads policies and directory now, and continues in a new decision log if the old one was moved away. */
  reload(): Promise<void>;
}

type PdpSecrets = Pick<Secrets, (typeof SECRETS)[number]>;

interface Serving extends Timing {
  readonly parts: Parts;
  readonly log: Logger;
}

async function createApp(config: Config, secrets: PdpSecrets, { parts, log, ...time }: Serving) {
  const { clock } = time;
  const { urls, pdp } = config;
  const { pdpSigningKey: key, pdpToken } = secrets;
  const { engine, decisionLog, evaluations } = parts;
  const ownKeys = [publicKey(key), ...pdp.publishedKeys.map(publicKey)];
  const signed = { issuer: urls.pdp, audience: urls.accessRequests };
  const signBindingToken = await createBindingTokenSigner({ key, ...signed });
  const remoteKeys = approvalKeys(config.keyUrls, time.limits);
  const reader = { issuer: urls.accessRequests, keys: remoteKeys, clock };
  const rates = createLimits(pdp);
  const catalogs = requestCatalogs(config.approvals.catalogs, urls);
  const metadata = pdpMetadata(urls, { canSearch: engine.canSearch });
  const decide = createDecide({
    verifyApproval: approvalVerifier(config, remoteKeys, time),
    signBindingToken,
    evaluations,
    url: urls.pdp,
    accessRequests: urls.accessRequests,
    requestCatalogsUrl: (template, evaluationId) => catalogs.urlFor(template, evaluationId),
    denialTtlSeconds: pdp.denialTtlSeconds,
    clock,
    decisionLog,
    log,
  });
  return createPdpApp({
    engine,
    decide,
    search: createSearch({ secret: key.d, charge: rates.charge }),
    problems: parts.problems,
    metadata: pdp.signMetadata ? await withSignature(metadata, key, clock) : metadata,
    keys: () => publishedKeys(ownKeys, remoteKeys),
    requestCatalogs: catalogs,
    recordedDenials: { evaluations, signBindingToken, reader },
    url: urls.pdp,
    enforcementPoints: await enforcementPoints(config, pdpToken),
    rates,
    ...time,
    maxBatchEntries: pdp.maxBatchEntries,
    maxBodyBytes: config.gateway.maxBodyBytes + ENVELOPE_BYTES,
    log,
  });
}

export interface PdpDeps {
  readonly databaseUrl: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Starts the policy decision point on `config.host` and `config.pdp.port`. Throws `ERR_CONFIG_INVALID` if the policies
 * cannot be used, and the listen error if the port is taken.
 */
export async function startPdp(
  config: Config,
  secrets: PdpSecrets,
  { clock, log, databaseUrl }: PdpDeps,
): Promise<RunningPdp> {
  const time: Timing = { clock, limits: limitsOf(config) };
  const parts = await openParts(config, { log, databaseUrl, ...time });
  try {
    const app = await createApp(config, secrets, { parts, log, ...time });
    const addresses = [config.urls.pdp, config.keyUrls.pdp];
    const own = { log, ...time };
    const server = await listen(app, openTo(config, { port: config.pdp.port, urls: addresses }, own));
    log.info({ url: config.urls.pdp }, 'the policy decision point is listening');
    const reload = async () => {
      parts.decisionLog?.reopen();
      await parts.engine.reload();
    };
    return { name: 'pdp', reload, stop: () => server.close().finally(() => parts.close()) };
  } catch (error) {
    await parts.close();
    throw error;
  }
}

type Parts = Awaited<ReturnType<typeof openParts>>;

/** The embedded Cedar, or another PDP if one is configured. Throws `ERR_CONFIG_INVALID` if the policies cannot be used. */
async function openEngine({ pdp, directory, approvals }: Config, own: Timing & { log: Logger }): Promise<PolicyEngine> {
  const { policies: folder, engine } = pdp;
  const { catalogs } = approvals;
  if (engine === undefined) return await openCedarEngine({ folder, directory, catalogs }, own);
  const { authzen } = engine;
  own.log.info({ url: authzen.url }, 'another policy decision point decides');
  return foreignEngine({ ...authzen, ask: connectForeignPdp(authzen, own) });
}

/** What has to be closed again. */
async function openParts(config: Config, { databaseUrl, ...own }: PdpDeps & Timing) {
  const { clock, limits, log } = own;
  const { decisionLog: file } = config.pdp;
  const decisionLog = file === undefined ? undefined : openDecisionLog(file, { clock, log });
  const engine = await openEngine(config, own).catch(async (error: unknown) => {
    await decisionLog?.close();
    throw error;
  });
  const durable = config.mode === 'production';
  const pool = createPool(databaseUrl, { applicationName: 'countersign pdp', role: ROLES.pdp, durable, limits });
  const evaluations = createEvaluationStore(pool);
  const keepMs = config.pdp.retentionSeconds * 1_000;
  const forget = (limit: number) => evaluations.forget(keepMs, limit);
  const forgetting = startForgetting({ of: 'denials on record', forget, clock, log });
  const close = async () => {
    await forgetting.stop();
    await Promise.all([engine.close(), decisionLog?.close(), pool.end()]);
  };
  return { engine, decisionLog, evaluations, problems: () => databaseProblems(pool), close };
}

if (isEntryScript(import.meta.url)) {
  await runDeployable('pdp', SECRETS, systemClock, async ({ config, secrets, ...deps }) => {
    const pdp = await startPdp(config, secrets, deps);
    // Only in a process of its own: elsewhere this signal means that the terminal was closed.
    process.on('SIGHUP', () => void pdp.reload());
    return pdp;
  });
}
