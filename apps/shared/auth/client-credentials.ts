import * as oidc from 'openid-client';
import { ownProperty } from '../../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { Config } from '../config/config.ts';
import { clientSecretOf, type DevelopmentSecrets } from '../config/development-secrets.ts';
import { isLoopbackHttp } from '../http/known-hosts.ts';
import { type Limits, limitsOf } from '../limits.ts';

interface ClientCredentials {
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
  // Secrets travel over plain http only where no other party can listen.
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

/** Whose token it is, and what for. */
interface PersonToken {
  readonly name: string;
  readonly audience: keyof ReturnType<typeof resourcesOf>;
  /** Separated by blanks. Default: all that the service knows. */
  readonly scope?: string | undefined;
}

/** A token of one of the people of the embedded identity provider, for one service. Fails as `requestToken` does. */
export function requestPersonToken(
  config: Pick<Config, 'urls' | 'gateway' | 'tools' | 'approvals' | 'audit' | 'timeLimitFactor'>,
  { identity }: Pick<DevelopmentSecrets, 'identity'>,
  { name, audience, scope }: PersonToken,
): Promise<IssuedToken> {
  const resource = resourcesOf(config)[audience];
  return requestToken({
    issuer: config.urls.issuer,
    clientId: name,
    clientSecret: clientSecretOf(identity, name),
    limits: limitsOf(config),
    resource: scope === undefined ? resource : { ...resource, scope },
  });
}

/** A service that takes access tokens: the audience they are made for, and the scopes that let their holder use it. */
interface Resource {
  readonly audience: string;
  /** Separated by blanks. */
  readonly scope: string;
}

/** Scopes that a token for the MCP endpoint needs to call the tool of this public name: those of the gateway first. */
export function scopesFor({ gateway, tools }: Pick<Config, 'gateway' | 'tools'>, tool: string): readonly string[] {
  const own = ownProperty(tools, tool)?.scopes;
  return own === undefined ? gateway.scopes : [...new Set([...gateway.scopes, ...own])];
}

/** Every scope that a token for the MCP endpoint may need. */
export function allScopes({ gateway, tools }: Pick<Config, 'gateway' | 'tools'>): readonly string[] {
  return [...new Set([...gateway.scopes, ...Object.values(tools).flatMap(({ scopes }) => scopes)])];
}

/** The services of this product that people and agents reach with an access token. */
export function resourcesOf(
  config: Pick<Config, 'urls' | 'gateway' | 'tools' | 'approvals' | 'audit'>,
): Record<'mcp' | 'approvals' | 'audit', Resource> {
  const { urls } = config;
  return {
    mcp: { audience: urls.mcp, scope: allScopes(config).join(' ') },
    approvals: { audience: urls.approvals, scope: config.approvals.scopes.join(' ') },
    audit: { audience: urls.audit, scope: config.audit.scopes.join(' ') },
  };
}
