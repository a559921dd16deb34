import type { JSONWebKeySet, JWK } from 'jose';
import { CountersignError } from '../../workflows/domain/errors.ts';

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

/** The half of an ES256 key that everybody may see. Throws `ERR_CONFIG_INVALID` when it is no such key. */
export function publicKey(key: JWK): JWK {
  const { kty, crv, x, y, kid } = key;
  if (kty !== 'EC' || crv !== 'P-256' || !x || !y || !kid) {
    throw new CountersignError(
      'ERR_CONFIG_INVALID',
      'The signing key is not an EC P-256 key with a kid. Make a new one.',
    );
  }
  return { kty, crv, x, y, kid, use: 'sig', alg: 'ES256' };
}

/** Keys of another signer, as its own endpoint publishes them: what `createRemoteJWKSet` of jose gives. */
export interface RemoteKeys {
  readonly fresh: boolean;
  readonly coolingDown: boolean;
  reload(): Promise<void>;
  jwks(): JSONWebKeySet | undefined;
}

/**
 * The published set: keys that verify our binding tokens and keys that verify approvals (ARAP-DIS-06). While the access
 * request service cannot be reached the set has what was last seen of it.
 */
export async function publishedKeys(own: JWK, remote: RemoteKeys): Promise<JSONWebKeySet> {
  if (!remote.fresh && !remote.coolingDown) await remote.reload().catch(() => undefined);
  const others = (remote.jwks()?.keys ?? []).filter((key) => key.kty === 'EC' && key.crv === 'P-256' && key.kid);
  return { keys: [own, ...others.filter((key) => key.kid !== own.kid).map(publicKey)] };
}
