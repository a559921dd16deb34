import * as oidc from 'openid-client';
import { ownProperty } from '../../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { Config } from '../config/config.ts';
import { clientSecretOf, type DevelopmentSecrets } from '../config/development-secrets.ts';
import { isLoopbackHttp } from '../http/known-hosts.ts';
import { limitsOf } from '../limits.ts';

export type IssuedToken = Awaited<ReturnType<typeof requestPersonToken>>;

interface PersonToken {
  readonly name: string;
  readonly audience: Service;
  /** Separated by spaces. Default: all scopes of the service. */
  readonly scope?: string | undefined;
}

/**
 * Requests a token for a person of the embedded identity provider with the client-credentials grant, for one service (RFC 8707). Throws
 * `ERR_TOKEN_INVALID` when the issuer refuses and `ERR_IDENTITY_PROVIDER_UNAVAILABLE` when it does not answer.
 */
export async function requestPersonToken(
  config: Pick<Config, 'urls' | 'gateway' | 'tools' | 'approvals' | 'audit' | 'timeLimitFactor'>,
  { identity }: Pick<DevelopmentSecrets, 'identity'>,
  { name, audience, scope }: PersonToken,
) {
  const { issuer } = config.urls;
  const url = new URL(issuer);
  // Secrets travel over plain http only where no other machine can listen.
  const execute = isLoopbackHttp(url) ? [oidc.allowInsecureRequests] : [];
  const timeout = limitsOf(config).tokenMs / 1_000;
  const secret = oidc.ClientSecretBasic(clientSecretOf(identity, name));
  const service = resourcesOf(config)[audience];
  const asked = { resource: service.audience, scope: scope ?? service.scope };
  try {
    const configuration = await oidc.discovery(url, name, undefined, secret, { execute, timeout });
    const tokens = await oidc.clientCredentialsGrant(configuration, asked);
    /** `expiresIn`: seconds from now, where the issuer says it. */
    return { accessToken: tokens.access_token, expiresIn: tokens.expires_in };
  } catch (cause) {
    if (cause instanceof oidc.ResponseBodyError || cause instanceof oidc.WWWAuthenticateChallengeError) {
      throw new CountersignError('ERR_TOKEN_INVALID', `${issuer} refuses ${name} a token for ${asked.scope}`, {
        cause,
      });
    }
    const message = `${issuer} does not answer; is it running?`;
    throw new CountersignError('ERR_IDENTITY_PROVIDER_UNAVAILABLE', message, { cause });
  }
}

/** The scopes that a token needs to call the tool with this public name. The gateway's own scopes come first. */
export function scopesFor({ gateway, tools }: Pick<Config, 'gateway' | 'tools'>, tool: string): readonly string[] {
  const own = ownProperty(tools, tool)?.scopes;
  return own === undefined ? gateway.scopes : [...new Set([...gateway.scopes, ...own])];
}

/** Every scope that a token for the MCP endpoint may need. */
export function allScopes({ gateway, tools }: Pick<Config, 'gateway' | 'tools'>): readonly string[] {
  return [...new Set([...gateway.scopes, ...Object.values(tools).flatMap(({ scopes }) => scopes)])];
}

/** The audience of tokens for the MCP endpoint. */
export const mcpAudience = ({ gateway, urls }: Pick<Config, 'gateway' | 'urls'>): string =>
  gateway.audience ?? urls.mcp;

/** A service that people and agents reach with an access token. */
export type Service = keyof ReturnType<typeof resourcesOf>;

/** The services that people and agents reach with an access token: its audience, and the scopes that let its holder use the service. */
export function resourcesOf(config: Pick<Config, 'urls' | 'gateway' | 'tools' | 'approvals' | 'audit'>) {
  const { urls } = config;
  return {
    mcp: { audience: mcpAudience(config), scope: allScopes(config).join(' ') },
    approvals: { audience: urls.approvals, scope: config.approvals.scopes.join(' ') },
    audit: { audience: urls.audit, scope: config.audit.scopes.join(' ') },
  };
}
