import { ownProperty } from '../../../workflows/domain/own-property.ts';
import type { Config } from '../config/config.ts';

/** A service that takes access tokens: the audience they are made for, and the scopes that let their holder use it. */
export interface Resource {
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
