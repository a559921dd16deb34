import {
  buildOAuthProtectedResourceMetadata,
  getOAuthProtectedResourceMetadataUrl,
} from '@modelcontextprotocol/server';
import express, { type Request, type Router } from 'express';
import { allScopes } from '../../shared/auth/client-credentials.ts';
import type { Config } from '../../shared/config/config.ts';
import { underNameOf } from '../../shared/http/known-hosts.ts';

export type ResourceConfig = Pick<Config, 'mode' | 'urls' | 'gateway' | 'tools'>;

/** Where clients look if a challenge names no other place. @see MCP authorization, protected resource metadata discovery */
const ROOT_PATH = '/.well-known/oauth-protected-resource';

/**
 * The MCP endpoint as the client of this request knows it. Clients compare the resource with the address that they use, and take
 * `localhost` and `127.0.0.1` for two servers. The audience of tokens is the configured address under each name.
 * @see RFC 9728, section 3.3
 */
export const resourceFor = (request: Request, { urls }: Pick<Config, 'urls'>): URL =>
  new URL(underNameOf(request.headers.host, urls.mcp));

/** The address of the metadata, for challenges to this request. */
export const metadataUrlFor = (request: Request, config: Pick<Config, 'urls'>): string =>
  getOAuthProtectedResourceMetadataUrl(resourceFor(request, config));

/** Tells clients which authorization server issues tokens for this resource. Pages of every site may read it. @see RFC 9728 */
export function resourceRouter(config: ResourceConfig): Router {
  const router = express.Router();
  const own = new URL(getOAuthProtectedResourceMetadataUrl(new URL(config.urls.mcp))).pathname;
  router.get([own, ROOT_PATH], (request, response) => {
    // The answer depends on the name by which the client knows this server.
    response.set({ 'Access-Control-Allow-Origin': '*', 'Cache-Control': 'no-store' });
    response.json(resourceMetadata(config, resourceFor(request, config)));
  });
  return router;
}

export function resourceMetadata(config: ResourceConfig, resource: URL) {
  const { mode, urls } = config;
  const scopes = allScopes(config);
  return buildOAuthProtectedResourceMetadata({
    resourceServerUrl: resource,
    resourceName: 'Countersign',
    // An empty list has to be left out. @see RFC 9728, section 3.2
    ...(scopes.length > 0 && { scopesSupported: [...scopes] }),
    // Only the issuer is published; clients read its endpoints from the issuer itself.
    oauthMetadata: {
      issuer: urls.issuer,
      authorization_endpoint: urls.issuer,
      token_endpoint: urls.issuer,
      response_types_supported: ['code'],
    },
    dangerouslyAllowInsecureIssuerUrl: mode === 'development',
  });
}
