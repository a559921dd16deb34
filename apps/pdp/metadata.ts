import type { JSONWebKeySet, JWK } from 'jose';
import { publicKeys } from '../shared/auth/signing-key.ts';

export { publicKey } from '../shared/auth/signing-key.ts';

export const EVALUATION_PATH = '/access/v1/evaluation';
export const EVALUATIONS_PATH = '/access/v1/evaluations';
export const JWKS_PATH = '/access/v1/jwks';

/** PDP metadata. @see AuthZEN Authorization API 1.0, section 9 */
export function pdpMetadata(urls: { pdp: string; accessRequests: string }): Record<string, unknown> {
  return {
    policy_decision_point: urls.pdp,
    access_evaluation_endpoint: urls.pdp + EVALUATION_PATH,
    access_evaluations_endpoint: urls.pdp + EVALUATIONS_PATH,
    access_request_endpoint: urls.accessRequests,
    jwks_uri: urls.pdp + JWKS_PATH,
    capabilities: ['urn:openid:authzen:capability:access-request'],
  };
}

/** The well-known path of a PDP: the path of its identifier, if it has one, comes last (AZ-MD-02). */
export function metadataPath(pdpUrl: string): string {
  return `/.well-known/authzen-configuration${basePath(pdpUrl)}`;
}

/** Path under which the PDP's endpoints are; empty for one that has a host of its own. */
export function basePath(pdpUrl: string): string {
  return new URL(pdpUrl).pathname.replace(/\/+$/, '');
}

/** Keys of another signer, as its own endpoint publishes them: what `createRemoteJWKSet` of jose gives. */
export interface RemoteKeys {
  readonly fresh: boolean;
  readonly coolingDown: boolean;
  reload(): Promise<void>;
  jwks(): JSONWebKeySet | undefined;
}

/**
 * The published set: keys that verify our binding tokens, the one that signs first, and keys that verify approvals
 * (ARAP-DIS-06). While the access request service cannot be reached the set has what was last seen of it.
 */
export async function publishedKeys(own: readonly JWK[], remote: RemoteKeys): Promise<JSONWebKeySet> {
  if (!remote.fresh && !remote.coolingDown) await remote.reload().catch(() => undefined);
  const known = new Set(own.map(({ kid }) => kid));
  const others = publicKeys(remote.jwks()?.keys ?? []);
  return { keys: [...own, ...others.filter(({ kid }) => !known.has(kid))] };
}
