import { createRemoteJWKSet, type JWTVerifyGetKey } from 'jose';
import type { Logger } from 'pino';
import { connectForeignPdp } from '../../activities/clients/pdp/foreign-pdp.ts';
import { systemClock, type Clock } from '../shared/clock.ts';
import type { Config } from '../shared/config/config.ts';
import type { Secrets } from '../shared/config/secrets.ts';
import { createPool, ROLES } from '../shared/database/pool.ts';
import { databaseProblems } from '../shared/database/readiness.ts';
import { runDeployable } from '../shared/deployable.ts';
import { openTo } from '../shared/http/address-limit.ts';
import { listen } from '../shared/http/listen.ts';
import { startForgetting } from '../shared/maintenance/forgetting.ts';
import { isEntryScript, type Running } from '../shared/lifecycle.ts';
import { limitsOf, type Timing } from '../shared/limits.ts';
import { createBindingTokenSigner } from './binding-token.ts';
import { createApprovalVerifier } from './cedar/facts.ts';
import { openDecisionLog } from './decision-log.ts';
import { enforcementPoints } from './enforcement-points.ts';
import { foreignSource, ownPolicies, type Deciding } from './foreign/source.ts';
import { createPdpApp } from './http.ts';
import { createLimits } from './limits.ts';
import { pdpMetadata, publicKey, publishedKeys, withSignature } from './metadata.ts';
import { recordedDenialsRouter } from './recorded-denials.ts';
import { requestCatalogs } from './request-catalogs.ts';
import { createRevokedApprovals } from './revocations.ts';
import { createPageTokens } from './search/page-token.ts';
import { createEvaluationStore } from './stores/evaluation.store.ts';
import { openPolicies } from './versions/source.ts';

export { testPolicies, type PolicyTest } from './cases/test-policies.ts';
export { describeProblem, type Problem } from './cedar/problems.ts';
export { checkPolicies, type PolicyCheck } from './tools/check.ts';
export { explainRequest, type Explanation } from './tools/explain.ts';
export { surveyTools, type ToolSurvey } from './tools/survey.ts';
export { replayCalls, type ChangedCall, type ReplayCounts } from './tools/replay.ts';
export { shortVersion, type PolicyPlaces } from './versions/version.ts';

/** Room for the rest of an evaluation beside the largest arguments that the gateway accepts. */
const ENVELOPE_BYTES = 256 * 1024;
/** All that this part may know: neither side's other keys and tokens. */
const SECRETS = ['pdpToken', 'pdpSigningKey'] as const;

/** As long as the access request service says that its keys may be kept. */
const KEYS_KEPT_MS = 300_000;

/** The keys that approvals are signed with. For one that is unknown they are read anew, at most twice a minute (ARAP-DIS-09). */
const approvalKeys = ({ approvals }: Config['keyUrls'], { approvalKeysMs }: Timing['limits']) =>
  createRemoteJWKSet(new URL(approvals), {
    timeoutDuration: approvalKeysMs,
    cacheMaxAge: KEYS_KEPT_MS,
  });

/** How approvals are believed: signed by the access request service, and not taken back by it since. */
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

const bindingTokenSigner = ({ urls }: Config, key: Secrets['pdpSigningKey']) =>
  createBindingTokenSigner({ key, issuer: urls.pdp, audience: urls.accessRequests });

const ownPool = ({ mode }: Config, databaseUrl: string, limits: Timing['limits']) =>
  createPool(databaseUrl, {
    applicationName: 'countersign pdp',
    role: ROLES.pdp,
    durable: mode === 'production',
    limits,
  });

/** The decision point, and what reads everything anew that can change while it runs. */
export interface RunningPdp extends Running {
  /** Reads policies and directory now, and goes on in a new decision log when the old one was moved away. */
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
  const { source, decisionLog, evaluations } = parts;
  const ownKeys = [publicKey(key), ...pdp.publishedKeys.map(publicKey)];
  const signBindingToken = await bindingTokenSigner(config, key);
  const remoteKeys = approvalKeys(config.keyUrls, time.limits);
  const reader = { issuer: urls.accessRequests, keys: remoteKeys, clock };
  const rates = createLimits(pdp);
  const catalogs = requestCatalogs(config.approvals.catalogs, urls);
  const metadata = pdpMetadata(urls, { canSearch: source.canSearch });
  return createPdpApp({
    withPolicies: source.inForce({
      verifyApproval: approvalVerifier(config, remoteKeys, time),
      signBindingToken,
      evaluations,
      accessRequests: urls.accessRequests,
      requestCatalogsUrl: (template, evaluationId) => catalogs.urlFor(template, evaluationId),
      denialTtlSeconds: pdp.denialTtlSeconds,
      clock,
      url: urls.pdp,
      decisionLog,
      searching: { tokens: createPageTokens(key.d), charge: rates.charge },
      log,
    }),
    status: () => source.status(),
    problems: parts.problems,
    metadata: pdp.signMetadata ? await withSignature(metadata, key, clock) : metadata,
    keys: () => publishedKeys(ownKeys, remoteKeys),
    requestSchemas: { find: (name) => source.findRequestSchema(name) },
    requestCatalogs: catalogs,
    recordedDenials: recordedDenialsRouter({ evaluations, signBindingToken, reader, url: urls.pdp }),
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
 * Starts the policy decision point on `config.host` and `config.pdp.port`. Throws `ERR_CONFIG_INVALID` when the policies
 * do not fit together, and the listen error when the port is taken.
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
      await parts.source.reload();
    };
    return { name: 'pdp', reload, stop: () => server.close().finally(() => parts.close()) };
  } catch (error) {
    await parts.close();
    throw error;
  }
}

type Parts = Awaited<ReturnType<typeof openParts>>;

/** What decides: our own policies, or a PDP of somebody else's. Throws `ERR_CONFIG_INVALID` when the policies do not fit together. */
async function openDeciding(
  { pdp, directory, approvals }: Config,
  own: Timing & { readonly log: Logger },
): Promise<Deciding> {
  const { policies: folder, engine } = pdp;
  const { catalogs } = approvals;
  if (engine === undefined) return ownPolicies(await openPolicies({ folder, directory, catalogs }, own));
  const { authzen } = engine;
  own.log.info({ url: authzen.url }, 'another policy decision point decides');
  return foreignSource({ ...authzen, ask: connectForeignPdp(authzen, own) });
}

/** What has to be closed again. */
async function openParts(config: Config, { databaseUrl, ...own }: PdpDeps & Timing) {
  const { clock, log } = own;
  const { decisionLog: file } = config.pdp;
  const decisionLog = file === undefined ? undefined : openDecisionLog(file, { clock, log });
  const source = await openDeciding(config, own).catch(async (error: unknown) => {
    await decisionLog?.close();
    throw error;
  });
  const pool = ownPool(config, databaseUrl, own.limits);
  const evaluations = createEvaluationStore(pool);
  const keepMs = config.pdp.retentionSeconds * 1_000;
  const forget = (limit: number) => evaluations.forget(keepMs, limit);
  const forgetting = startForgetting({ of: 'denials on record', forget, clock, log });
  const close = async () => {
    await forgetting.stop();
    await Promise.all([source.close(), decisionLog?.close(), pool.end()]);
  };
  return { source, decisionLog, evaluations, problems: () => databaseProblems(pool), close };
}

if (isEntryScript(import.meta.url)) {
  await runDeployable('pdp', SECRETS, systemClock, async ({ config, secrets, ...deps }) => {
    const pdp = await startPdp(config, secrets, deps);
    // Only in a process of its own: elsewhere this signal says that the terminal was closed.
    process.on('SIGHUP', () => void pdp.reload());
    return pdp;
  });
}
