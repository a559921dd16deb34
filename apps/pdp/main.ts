import { createRemoteJWKSet } from 'jose';
import type { Logger } from 'pino';
import { PEP_CLIENT_ID } from '../../workflows/domain/authzen/pep.ts';
import type { Config } from '../shared/config/config.ts';
import type { Secrets } from '../shared/config/secrets.ts';
import { createPool } from '../shared/database/pool.ts';
import { runDeployable } from '../shared/deployable.ts';
import { listen } from '../shared/http/listen.ts';
import { isEntryScript, type Running } from '../shared/lifecycle.ts';
import { createBindingTokenSigner } from './binding-token.ts';
import { createEngine } from './cedar/engine.ts';
import { createApprovalVerifier } from './cedar/facts.ts';
import { cedarPolicies } from './cedar/policy-engine.ts';
import { readPolicyFiles } from './cedar/policy-files.ts';
import { createDecide } from './decide.ts';
import { createPdpApp } from './http.ts';
import { pdpMetadata, publicKey, publishedKeys } from './metadata.ts';
import { readRequestSchemas, schemaUrls } from './request-schemas.ts';
import { createEvaluationStore } from './stores/evaluation.store.ts';

export { testPolicies, type PolicyTest } from './cases/test-policies.ts';

/** Room for the rest of an evaluation beside the largest arguments that the gateway accepts. */
const ENVELOPE_BYTES = 256 * 1024;
const KEYS_TIMEOUT_MS = 2_000;
/** All that this part may know: neither side's other keys and tokens. */
const SECRETS = ['pdpToken', 'pdpSigningKey'] as const;

/** The keys that approvals are signed with. */
const approvalKeys = ({ approvals }: Config['urls']) =>
  createRemoteJWKSet(new URL(`${approvals}/access/v1/jwks`), { timeoutDuration: KEYS_TIMEOUT_MS });

/** Throws `ERR_CONFIG_INVALID` when what is in the folder does not fit together. */
async function loadPolicies(folder: string, log: Logger) {
  const files = await readPolicyFiles(folder);
  const engine = createEngine(files);
  for (const warning of engine.warnings) log.warn({ warning }, 'Cedar warns about a policy');
  return { engine, requestSchemas: readRequestSchemas(files.requestSchemas, engine.policies) };
}

/**
 * Starts the policy decision point on `config.host` and `config.pdp.port`. Throws `ERR_CONFIG_INVALID` when the policies
 * do not fit together, and the listen error when the port is taken.
 */
export async function startPdp(
  config: Config,
  secrets: Pick<Secrets, (typeof SECRETS)[number]>,
  { log, databaseUrl }: { log: Logger; databaseUrl: string },
): Promise<Running> {
  const { urls } = config;
  const { engine, requestSchemas } = await loadPolicies(config.pdp.policies, log);
  const ownKey = publicKey(secrets.pdpSigningKey);
  const remoteKeys = approvalKeys(urls);
  const signBindingToken = await createBindingTokenSigner({
    key: secrets.pdpSigningKey,
    issuer: urls.pdp,
    audience: urls.accessRequests,
  });
  const issuers = new Map([[urls.accessRequests, remoteKeys]]);
  const pool = createPool(databaseUrl, {
    applicationName: 'countersign pdp',
    role: 'countersign_authority',
    durable: config.mode === 'production',
  });
  const decide = createDecide({
    engine: cedarPolicies(engine),
    verifyApproval: createApprovalVerifier({ issuers, audience: urls.pdp }),
    signBindingToken,
    evaluations: createEvaluationStore(pool),
    accessRequests: urls.accessRequests,
    requestSchemaUrl: schemaUrls(requestSchemas, urls.pdp),
    denialTtlSeconds: config.pdp.denialTtlSeconds,
    log,
  });
  const app = createPdpApp({
    decide,
    metadata: pdpMetadata(urls),
    keys: () => publishedKeys(ownKey, remoteKeys),
    requestSchemas,
    url: urls.pdp,
    token: secrets.pdpToken,
    requester: PEP_CLIENT_ID,
    maxBodyBytes: config.gateway.maxBodyBytes + ENVELOPE_BYTES,
    log,
  });
  try {
    const server = await listen(app, { host: config.host, port: config.pdp.port });
    log.info({ url: urls.pdp, policies: engine.policies.size }, 'the policy decision point is listening');
    return { name: 'pdp', stop: () => server.close().finally(() => pool.end()) };
  } catch (error) {
    await pool.end();
    throw error;
  }
}

if (isEntryScript(import.meta.url)) {
  await runDeployable('pdp', SECRETS, ({ config, secrets, ...deps }) => startPdp(config, secrets, deps));
}
