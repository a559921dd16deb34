import type { Config } from '../config/config.ts';

/** A service that takes access tokens: the audience they are made for, and the scope that lets their holder use it. */
export interface Resource {
  readonly audience: string;
  readonly scope: string;
}

/** The services of this product that people and agents reach with an access token. */
export function resourcesOf({ urls }: Pick<Config, 'urls'>): Record<'mcp' | 'approvals' | 'audit', Resource> {
  return {
    mcp: { audience: urls.mcp, scope: 'mcp' },
    approvals: { audience: urls.approvals, scope: 'approvals' },
    audit: { audience: urls.audit, scope: 'audit' },
  };
}
