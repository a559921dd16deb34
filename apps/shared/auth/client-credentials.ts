import * as oidc from 'openid-client';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import { isLoopbackHttp } from '../http/loopback.ts';
import type { Limits } from '../limits.ts';
import type { Resource } from './resources.ts';

export interface ClientCredentials {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** What the token is for. */
  readonly resource: Resource;
  readonly limits: Limits;
}

export interface IssuedToken {
  readonly accessToken: string;
  /** Seconds from now. Absent when the issuer does not say. */
  readonly expiresIn?: number;
}

/**
 * A token for a program: the client-credentials grant, for one resource (RFC 8707). Throws `ERR_TOKEN_INVALID` when the
 * issuer refuses and `ERR_IDENTITY_PROVIDER_UNAVAILABLE` when it does not answer.
 */
export async function requestToken({
  issuer,
  clientId,
  clientSecret,
  resource,
  limits,
}: ClientCredentials): Promise<IssuedToken> {
  const url = new URL(issuer);
  // Secrets travel over plain http only where nobody else can listen.
  const isLocal = isLoopbackHttp(url);
  try {
    const configuration = await oidc.discovery(url, clientId, undefined, oidc.ClientSecretBasic(clientSecret), {
      execute: isLocal ? [oidc.allowInsecureRequests] : [],
      timeout: limits.tokenMs / 1_000,
    });
    const { audience, scope } = resource;
    const tokens = await oidc.clientCredentialsGrant(configuration, { resource: audience, scope });
    return {
      accessToken: tokens.access_token,
      ...(tokens.expires_in !== undefined && { expiresIn: tokens.expires_in }),
    };
  } catch (cause) {
    if (cause instanceof oidc.ResponseBodyError || cause instanceof oidc.WWWAuthenticateChallengeError) {
      throw new CountersignError('ERR_TOKEN_INVALID', `${issuer} gives ${clientId} no token for ${resource.scope}`, {
        cause,
      });
    }
    throw new CountersignError('ERR_IDENTITY_PROVIDER_UNAVAILABLE', `${issuer} does not answer; is it running?`, {
      cause,
    });
  }
}
