import type { RequestHandler } from 'express';
import type { createRemoteJWKSet, JSONWebKeySet, JWK } from 'jose';
import { PEP_CLIENT_ID } from '../../../workflows/domain/authzen/evaluation.ts';
import { OBLIGATION_TYPES } from '../../../workflows/domain/authzen/obligation.ts';
import { createSigner, publicKeys } from '../../shared/auth/signing-key.ts';
import type { Clock } from '../../shared/clock.ts';
import type { Config } from '../../shared/config/config.ts';
import { secretText } from '../../shared/config/secrets.ts';
import { bearerHolderOf } from '../../shared/http/bearer.ts';
import { createRateLimit } from '../../shared/http/address-limit.ts';

export const EVALUATION_PATH = '/access/v1/evaluation';
export const EVALUATIONS_PATH = '/access/v1/evaluations';
export const SEARCH_PATHS = {
  subject: '/access/v1/search/subject',
  resource: '/access/v1/search/resource',
  action: '/access/v1/search/action',
} as const;
export const JWKS_PATH = '/access/v1/jwks';

/** PDP metadata. @see AuthZEN Authorization API 1.0, section 9 */
export function pdpMetadata(urls: { pdp: string; accessRequests: string }, { canSearch } = { canSearch: true }) {
  const base = urls.pdp.replace(/\/+$/, '');
  return {
    policy_decision_point: urls.pdp,
    access_evaluation_endpoint: base + EVALUATION_PATH,
    access_evaluations_endpoint: base + EVALUATIONS_PATH,
    // Endpoints that do not exist are left out (AZ-MD-07, AZ-MD-11).
    ...(canSearch && {
      search_subject_endpoint: base + SEARCH_PATHS.subject,
      search_resource_endpoint: base + SEARCH_PATHS.resource,
      search_action_endpoint: base + SEARCH_PATHS.action,
    }),
    access_request_endpoint: urls.accessRequests,
    supported_obligations: [...OBLIGATION_TYPES],
    jwks_uri: base + JWKS_PATH,
    capabilities: ['urn:openid:authzen:capability:access-request'],
  };
}

/**
 * The metadata with `signed_metadata`: the same parameters as a JWT that the PDP issues and signs (AZ-MD-13). The public half
 * of the key has to be in `jwks_uri`. Throws `ERR_CONFIG_INVALID` if it is no signing key.
 */
export async function withSignature(
  metadata: Record<string, unknown> & { policy_decision_point: string },
  key: JWK,
  clock: Clock,
): Promise<Record<string, unknown>> {
  const sign = await createSigner(key);
  const issued = { iss: metadata.policy_decision_point, iat: Math.floor(clock.now() / 1_000) };
  return { ...metadata, signed_metadata: await sign({ ...metadata, ...issued }) };
}

/** The well-known path of a PDP. The path of its identifier, if it has one, comes last (AZ-MD-02). */
export function metadataPath(pdpUrl: string): string {
  return `/.well-known/authzen-configuration${basePath(pdpUrl)}`;
}

/** Path under which the PDP's endpoints are. Empty for a PDP with a host of its own. */
export function basePath(pdpUrl: string): string {
  return new URL(pdpUrl).pathname.replace(/\/+$/, '');
}

/**
 * The published set: keys that verify our binding tokens, the signing key first, and keys that verify approvals (ARAP-DIS-06).
 * While the access request service cannot be reached, the set has the keys that were last fetched from it.
 */
export async function publishedKeys(
  own: readonly JWK[],
  remote: ReturnType<typeof createRemoteJWKSet>,
): Promise<JSONWebKeySet> {
  if (!remote.fresh && !remote.coolingDown) await remote.reload().catch(() => undefined);
  const known = new Set(own.map(({ kid }) => kid));
  const others = publicKeys(remote.jwks()?.keys ?? []);
  return { keys: [...own, ...others.filter(({ kid }) => !known.has(kid))] };
}

/** A caller of the PDP: a name, to which denials and approvals are bound, and the bearer token that proves it. */
export interface EnforcementPoint {
  readonly name: string;
  readonly token: string;
}

/** Gateway and worker as one, whichever replica calls, then the configured ones. Throws `ERR_CONFIG_INVALID`. */
export async function enforcementPoints({ pdp }: Config, ownToken: string): Promise<EnforcementPoint[]> {
  const configured = Object.entries(pdp.enforcementPoints).map(async ([name, { token }]) => ({
    name,
    token: await secretText(token, `pdp.enforcementPoints.${name}.token`),
  }));
  return [{ name: PEP_CLIENT_ID, token: ownToken }, ...(await Promise.all(configured))];
}

/** A request that comes too soon. The message is sent to the caller. */
export class TooMany extends Error {
  override readonly name = 'TooMany';
  /** Whole seconds after which a repetition is worthwhile. */
  readonly retryAfterSeconds: number;

  constructor(message: string, waitMs: number) {
    super(message);
    this.retryAfterSeconds = Math.max(1, Math.ceil(waitMs / 1_000));
  }
}

/** Limits of this process: one enforcement point cannot take what the others need. @see AuthZEN, Availability and DoS */
export function createLimits(of: { maxEvaluationsPerSecond: number; maxConcurrentRequests: number }) {
  const rate = createRateLimit({ count: of.maxEvaluationsPerSecond, seconds: 1 });
  let working = 0;

  async function take(requester: string, evaluations: number): Promise<void> {
    const waitMs = await rate.take(requester, evaluations);
    if (waitMs !== undefined) throw new TooMany('too many evaluations in a second: ask again later', waitMs);
  }

  /** Before the body is read: limits the requests at work at a time, and counts one evaluation. */
  const admit: RequestHandler = async (_request, response, next) => {
    if (working >= of.maxConcurrentRequests) throw new TooMany('too many requests at a time: ask again later', 0);
    working += 1;
    response.once('close', () => (working -= 1));
    await take(bearerHolderOf<EnforcementPoint>(response).name, 1);
    next();
  };
  return {
    admit,
    /** Counts the evaluations of a request after its first. Throws `TooMany`. */
    charge: async (requester: string, evaluations: number): Promise<void> => {
      if (evaluations > 0) await take(requester, evaluations);
    },
  };
}
