import { createRemoteJWKSet } from 'jose';
import type { Logger } from 'pino';
import { connectForeignPdp } from '../../activities/clients/pdp/foreign-pdp.ts';
import { publicKey } from '../shared/auth/signing-key.ts';
import { systemClock } from '../shared/clock.ts';
import type { Config } from '../shared/config/config.ts';
import { type LiveConfig, unchanging } from '../shared/config/live.ts';
import type { Secrets } from '../shared/config/secrets.ts';
import { createPool, ROLES } from '../shared/database/pool.ts';
import { databaseNeed } from '../shared/database/readiness.ts';
import { type Deps, runDeployable } from '../shared/deployable.ts';
import { openTo } from '../shared/http/address-limit.ts';
import { listen } from '../shared/http/listen.ts';
import { startForgetting } from '../shared/maintenance/rounds.ts';
import { isEntryScript, type Running } from '../shared/lifecycle.ts';
import { limitsOf, type Timing } from '../shared/limits.ts';
import { startWatchingNeeds } from '../shared/needs.ts';
import { createApprovalVerifier, createRevokedApprovals } from './approval/verify-approval.ts';
import { createDecide } from './decide.ts';
import { openDecisionLog } from './decision-log.ts';
import { openCedarEngine } from './engine/cedar/cedar-engine.ts';
import type { PolicyPlaces } from './engine/cedar/policy-folder.ts';
import { foreignEngine } from './engine/foreign.ts';
import type { PolicyEngine } from './engine/policy-engine.ts';
import { createPdpApp } from './http/app.ts';
import { createLimits, enforcementPoints, pdpMetadata, publishedKeys, withSignature } from './http/metadata.ts';
import { createBindingTokenSigner } from './offer/binding-token.ts';
import { requestCatalogs } from './offer/request-documents.ts';
import { createSearch } from './search.ts';
import { createEvaluationStore } from './stores/evaluation.store.ts';

export { describeProblem, type PolicyProblem } from './engine/cedar/problems.ts';
export type { PolicyPlaces } from './engine/cedar/policy-folder.ts';
export { writtenPolicies } from './rules/written.ts';
export { shortVersion } from './engine/policy-engine.ts';
export { explainRequest, type Explanation } from './tools/explain.ts';
export { replayCalls, type ChangedCall, type ReplayCounts } from './tools/replay.ts';
export { suggestRules, type SuggestedGrants, type SuggestedRule, type Suggestions } from './tools/suggest/suggest.ts';
export { surveyTools, type ToolSurvey } from './tools/survey.ts';
export { checkPolicies, type PolicyCheck, testPolicies, type PolicyTest } from './tools/test-policies.ts';

/** Room for the rest of an evaluation beside the largest arguments that the gateway accepts. */
const ENVELOPE_BYTES = 256 * 1024;
/** The secrets that the PDP holds: no other key or token of either side. */
const SECRETS = ['pdpToken', 'pdpSigningKey'] as const;
/** The access request service allows callers to cache its keys for so long. */
const KEYS_CACHED_MS = 300_000;

type PdpSecrets = Pick<Secrets, (typeof SECRETS)[number]>;
type Own = Timing & { readonly log: Logger };

async function createApp(config: Config, secrets: PdpSecrets, parts: Parts, own: Own) {
  const { urls, pdp } = config;
  const { pdpSigningKey: key, pdpToken } = secrets;
  const { clock, limits, log } = own;
  const { engine, decisionLog, evaluations, needs } = parts;
  const signBindingToken = await createBindingTokenSigner({ key, issuer: urls.pdp, audience: urls.accessRequests });
  // An unknown key makes the PDP fetch the keys anew, at most twice a minute (ARAP-DIS-09).
  const keys = createRemoteJWKSet(new URL(config.keyUrls.approvals), {
    timeoutDuration: limits.approvalKeysMs,
    cacheMaxAge: KEYS_CACHED_MS,
  });
  const accessRequestService = { issuer: urls.accessRequests, keys, clock };
  const revocationsUrl = `${urls.approvals}/access/v1/revocations`;
  const revoked = createRevokedApprovals({ ...accessRequestService, url: revocationsUrl, limits });
  const rates = createLimits(pdp);
  const catalogs = requestCatalogs(config.approvals.catalogs, urls);
  const metadata = pdpMetadata(urls, { canSearch: engine.canSearch });
  const decide = createDecide({
    verifyApproval: createApprovalVerifier({
      ...accessRequestService,
      audience: urls.pdp,
      revoked: pdp.checkRevocations ? revoked : () => Promise.resolve(new Set()),
    }),
    requestCatalogsUrl: (template, evaluationId) => catalogs.urlFor(template, evaluationId),
    denialTtlSeconds: pdp.denialTtlSeconds,
    ...{ signBindingToken, evaluations, url: urls.pdp, accessRequests: urls.accessRequests, clock, decisionLog, log },
  });
  return createPdpApp({
    search: createSearch({ secret: key.d, charge: rates.charge }),
    metadata: pdp.signMetadata ? await withSignature(metadata, key, clock) : metadata,
    keys: () => publishedKeys([key, ...pdp.publishedKeys].map(publicKey), keys),
    requestCatalogs: catalogs,
    recordedDenials: { evaluations, signBindingToken, reader: accessRequestService },
    enforcementPoints: await enforcementPoints(config, pdpToken),
    maxBatchEntries: pdp.maxBatchEntries,
    maxBodyBytes: config.gateway.maxBodyBytes + ENVELOPE_BYTES,
    ...{ engine, decide, needs, url: urls.pdp, rates, clock, limits, log },
  });
}

/**
 * Starts the policy decision point on `config.host` and `config.pdp.port`. `reload` reads everything again that can change while
 * it runs: policies and directory. It also continues in a new decision log if the old one was moved away.
 *
 * Throws `ERR_CONFIG_INVALID` if the policies cannot be used, and the listen error if the port is taken.
 */
export async function startPdp(
  config: Config,
  secrets: PdpSecrets,
  deps: Deps,
): Promise<Running & { reload(): Promise<void> }> {
  const { clock, log } = deps;
  const own: Own = { clock, log, limits: limitsOf(config) };
  const parts = await openParts(config, deps, own);
  try {
    const app = await createApp(config, secrets, parts, own);
    const urls = [config.urls.pdp, config.keyUrls.pdp];
    const server = await listen(app, openTo(config, { port: config.pdp.port, urls }, own));
    log.info({ url: config.urls.pdp }, 'the policy decision point is listening');
    const reload = async () => {
      parts.decisionLog?.reopen();
      await parts.engine.reload();
    };
    const stop = async () => {
      try {
        await server.close();
      } finally {
        await parts.close();
      }
    };
    return { name: 'pdp', reload, stop };
  } catch (error) {
    await parts.close();
    throw error;
  }
}

type Parts = Awaited<ReturnType<typeof openParts>>;

const placesOf = ({ pdp, directory, approvals }: Config): PolicyPlaces => ({
  folder: pdp.policies,
  rules: pdp.rules,
  directory,
  catalogs: approvals.catalogs,
  templates: Object.keys(approvals.templates),
});

/** The embedded Cedar, or another PDP if one is configured. Throws `ERR_CONFIG_INVALID` if the policies cannot be used. */
async function openEngine(
  config: Config,
  live: LiveConfig,
  own: Own,
): Promise<{ readonly engine: PolicyEngine; readonly leave: () => void }> {
  const { pdp } = config;
  if (pdp.engine === undefined) {
    const engine = await openCedarEngine(placesOf(config), own);
    return { engine, leave: live.follow((next) => engine.prepare(placesOf(next))) };
  }
  const { authzen } = pdp.engine;
  own.log.info({ url: authzen.url }, 'another policy decision point decides');
  const isListed = (template: string) => Object.hasOwn(config.approvals.templates, template);
  const engine = foreignEngine({ ...authzen, isListed, ask: connectForeignPdp(authzen, own) });
  return { engine, leave: () => undefined };
}

/** Opens what has to be closed again. */
async function openParts(config: Config, { databaseUrl, live = unchanging(config) }: Deps, own: Own) {
  const { clock, limits, log } = own;
  const { decisionLog: file } = config.pdp;
  const decisionLog = file === undefined ? undefined : openDecisionLog(file, { clock, log });
  const { engine, leave } = await openEngine(config, live, own).catch(async (error: unknown) => {
    await decisionLog?.close();
    throw error;
  });
  const durable = config.mode === 'production';
  const pool = createPool(databaseUrl, { applicationName: 'countersign pdp', role: ROLES.pdp, durable, limits });
  const evaluations = createEvaluationStore(pool);
  const keepMs = config.pdp.retentionSeconds * 1_000;
  const forget = (limit: number) => evaluations.forget(keepMs, limit);
  const forgetting = startForgetting({ of: 'denials on record', forget, clock, log });
  const needs = [databaseNeed(pool)];
  const watch = startWatchingNeeds({ needs, ...own });
  const close = async () => {
    leave();
    await Promise.all([forgetting.stop(), watch.stop()]);
    await Promise.all([engine.close(), decisionLog?.close(), pool.end()]);
  };
  return { engine, decisionLog, evaluations, needs, close };
}

if (isEntryScript(import.meta.url)) {
  await runDeployable('pdp', SECRETS, systemClock, ({ config, secrets, ...deps }) => startPdp(config, secrets, deps));
}
