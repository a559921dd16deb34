import { createLocalJWKSet, exportJWK, generateKeyPair, type JWK, type JWTVerifyGetKey } from 'jose';
import { pino } from 'pino';
import { createBindingTokenSigner, type BoundDenial } from '../../apps/pdp/offer/binding-token.ts';
import { createEvaluator, type Evaluator } from '../../apps/pdp/engine/cedar/evaluator.ts';
import { createApprovalVerifier, type ApprovalTrust } from '../../apps/pdp/approval/verify-approval.ts';
import { readPolicyFiles } from '../../apps/pdp/engine/cedar/policy-folder.ts';
import { createDecide, type Decide, type DecideWith } from '../../apps/pdp/decide.ts';
import { createLimits, type EnforcementPoint, pdpMetadata, withSignature } from '../../apps/pdp/http/metadata.ts';
import { publicKey } from '../../apps/shared/auth/signing-key.ts';
import { createPdpApp } from '../../apps/pdp/http/app.ts';
import { readRequestSchemas, requestCatalogs, type RequestSchemas } from '../../apps/pdp/offer/request-documents.ts';
import { policyVersion } from '../../apps/pdp/engine/cedar/version.ts';
import type { PolicyEngine, PolicyVersion } from '../../apps/pdp/engine/policy-engine.ts';
import { createSearch } from '../../apps/pdp/search.ts';
import type { CatalogSettings } from '../../apps/shared/config/approval-settings.ts';
import { packagePath } from '../../apps/shared/config/files.ts';
import {
  type EvaluationRequest,
  POLICIES_MEMBER,
  POLICY_VERSION_MEMBER,
} from '../../workflows/domain/authzen/evaluation.ts';
import { serve } from './serve.ts';
import { systemTime } from './time.ts';

export const PDP_URL = 'http://pdp.test';
export const ACCESS_REQUESTS = 'http://approvals.test/access/v1/requests';
export const PDP_TOKEN = 'a-token-of-the-enforcement-point';
export const REQUESTER = 'mcp-gateway';
export const FIXTURE_POLICIES = packagePath('test', 'fixtures', 'pdp');
export const DEFAULT_POLICIES = packagePath('policies');

export interface LogLine {
  readonly level: number;
  readonly alarm?: string;
  readonly [key: string]: unknown;
}

/** A logger whose lines a test can read. */
export function recordingLog() {
  const lines: LogLine[] = [];
  const write = (line: string) => void lines.push(JSON.parse(line) as LogLine);
  return { lines, log: pino({ level: 'info' }, { write }) };
}

export async function anEs256Key(kid: string): Promise<JWK & { kty: string; kid: string; d: string }> {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  const { d = '', ...jwk } = await exportJWK(privateKey);
  return { ...jwk, kty: 'EC', kid, d };
}

export async function loadEvaluator(folder: string): Promise<Evaluator> {
  return await createEvaluator(await readPolicyFiles(folder));
}

/** A transfer of the fixture policies; 50 000 is above the limit that needs an approval. */
export function aTransfer(context: Record<string, unknown> = {}): EvaluationRequest {
  return {
    subject: { type: 'identity', id: 'alice@example.com' },
    action: { name: 'wire_transfer' },
    resource: { type: 'account', id: 'acct-991' },
    context: { agent: 'agent-7', amount: 50_000, ...context },
  };
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: {
    decision?: boolean;
    context?: Record<string, unknown>;
    evaluations?: { decision: boolean; context?: object }[];
  };
}

type UsedEngine = Pick<PolicyEngine, 'use' | 'findRequestSchema' | 'status'>;

/** An engine with one version of the policies, which never changes. */
const fixedEngine = (version: PolicyVersion, schemas: Pick<RequestSchemas, 'find'>): UsedEngine => ({
  use: (work) => work(version),
  findRequestSchema: (name) => schemas.find(name),
  status: () => ({ policy_version: version.id }),
});

/**
 * Decides as `decide` does, without the two members that only the product's gateway and worker need. Tests of versions
 * cover those.
 */
const withoutOwnMembers =
  (decide: Decide): Decide =>
  async (...of) => {
    const { decision, context = {} } = await decide(...of);
    const { [POLICIES_MEMBER]: _policies, [POLICY_VERSION_MEMBER]: _version, ...others } = context;
    return { decision, ...(Object.keys(others).length > 0 && { context: others }) };
  };

/** The PDP over HTTP with fixture policies, its own keys and a store in memory. `stop` it after the tests. */
export async function startTestPdp(
  of: {
    policies?: string;
    url?: string;
    /** The decider. Default: the policies. */
    engine?: UsedEngine;
    decide?: Partial<DecideWith>;
    /** How approvals are verified, where it differs from the default. */
    approvals?: Partial<ApprovalTrust>;
    keys?: JWTVerifyGetKey;
    requestSchemas?: Parameters<typeof readRequestSchemas>[0];
    catalogs?: CatalogSettings;
    limits?: Partial<Parameters<typeof createLimits>[0]>;
    enforcementPoints?: readonly EnforcementPoint[];
    signMetadata?: boolean;
    maxBodyBytes?: number;
  } = {},
) {
  const evaluator = await loadEvaluator(of.policies ?? FIXTURE_POLICIES);
  const url = of.url ?? PDP_URL;
  const schemas = readRequestSchemas(of.requestSchemas ?? [], evaluator.policies);
  const catalogs = requestCatalogs(of.catalogs ?? {}, { pdp: url, accessRequests: ACCESS_REQUESTS });
  const [pdpKey, arsKey] = await Promise.all([anEs256Key('pdp-1'), anEs256Key('ars-1')]);
  const { lines, log } = recordingLog();
  const recorded: BoundDenial[] = [];
  const keys = of.keys ?? createLocalJWKSet({ keys: [publicKey(arsKey)] });
  const decide = createDecide({
    ...systemTime,
    verifyApproval: createApprovalVerifier({
      ...systemTime,
      issuer: ACCESS_REQUESTS,
      keys,
      audience: url,
      revoked: () => Promise.resolve(new Set()),
      ...of.approvals,
    }),
    signBindingToken: await createBindingTokenSigner({ key: pdpKey, issuer: url, audience: ACCESS_REQUESTS }),
    evaluations: { record: async (denial) => void recorded.push(await Promise.resolve(denial)) },
    url,
    accessRequests: ACCESS_REQUESTS,
    requestCatalogsUrl: (template, evaluationId) => catalogs.urlFor(template, evaluationId),
    denialTtlSeconds: 600,
    log,
    ...of.decide,
  });
  const rates = createLimits({ maxEvaluationsPerSecond: 100_000, maxConcurrentRequests: 1_000, ...of.limits });
  const metadata = pdpMetadata({ pdp: url, accessRequests: ACCESS_REQUESTS });
  const app = createPdpApp({
    ...systemTime,
    engine: of.engine ?? fixedEngine(policyVersion('sha-256:00', evaluator, schemas), schemas),
    decide: withoutOwnMembers(decide),
    search: createSearch({ secret: pdpKey.d, charge: rates.charge }),
    metadata: of.signMetadata ? await withSignature(metadata, pdpKey, systemTime.clock) : metadata,
    keys: () => Promise.resolve({ keys: [publicKey(pdpKey), publicKey(arsKey)] }),
    requestCatalogs: catalogs,
    url,
    enforcementPoints: [{ name: REQUESTER, token: PDP_TOKEN }, ...(of.enforcementPoints ?? [])],
    rates,
    maxBatchEntries: 256,
    maxBodyBytes: of.maxBodyBytes ?? 100_000,
    log,
  });
  const server = await serve(app);
  const origin = server.url;
  return {
    origin,
    pdpKey,
    arsKey,
    lines,
    recorded,
    post: (body: unknown, init?: PostOptions) => post(origin, body, init),
    stop: () => server.close(),
  };
}

export interface PostOptions {
  readonly path?: string;
  /** Replaces the default headers of the same name; null leaves one out. */
  readonly headers?: Record<string, string | null>;
}

/** Posts a body as JSON, or unchanged when it is text. */
export async function post(
  origin: string,
  body: unknown,
  { path = '/access/v1/evaluation', headers = {} }: PostOptions = {},
): Promise<Answer> {
  const all = { 'Content-Type': 'application/json', Authorization: `Bearer ${PDP_TOKEN}`, ...headers };
  const kept = Object.entries(all).filter((header): header is [string, string] => header[1] !== null);
  const response = await fetch(origin + path, {
    method: 'POST',
    headers: kept,
    body: typeof body === 'string' || body instanceof Uint8Array ? (body as string) : JSON.stringify(body),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json');
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: isJson ? (JSON.parse(text) as Answer['body']) : {},
  };
}
