import { errors, type KoaContextWithOIDC } from 'oidc-provider';
import { allScopes } from '../../auth/client-credentials.ts';
import type { Config } from '../../config/config.ts';
import { withLoopbackNames } from '../../http/known-hosts.ts';
import { stillHolds } from './agreement.ts';
import { targetOf } from './host-metadata.ts';
import type { HostState } from './host-state.ts';
import { isHost, kindOfHost } from './hosts.ts';
import type { Problem } from './sign-in-page.tsx';

/** The addresses by which hosts may name the MCP endpoint. A token is for the configured address, whichever they use. */
export const mcpNames = ({ urls }: Config): ReadonlySet<string> => withLoopbackNames(urls.mcp);

/**
 * Lets no address of a host be used as a redirector: without an answer of a person, an error goes back only to this machine. The page shows
 * all other errors. @see RFC 9700, section 4.11.2
 */
export function keepErrorsHere(ctx: KoaContextWithOIDC, error: errors.OIDCProviderError): void {
  const { client, params, route } = ctx.oidc;
  if (route !== 'authorization' || !isHost(client?.clientId ?? textOf(ctx.query['client_id']))) return;
  const redirectUri = params?.['redirect_uri'];
  const isHere =
    typeof redirectUri === 'string' && URL.canParse(redirectUri) && targetOf(redirectUri).kind === 'machine';
  if (!isHere) error.allow_redirect = false;
}

const textOf = (value: string | string[] | undefined) => (typeof value === 'string' ? value : undefined);

/** Hosts that name no scope of the gateway get those that every request needs. @see RFC 6749, section 3.3 */
export function withDefaultScopes(config: Config) {
  return async (ctx: KoaContextWithOIDC, next: () => Promise<void>): Promise<void> => {
    const { client_id: clientId, scope = '' } = ctx.query;
    if (ctx.path === '/auth' && isHost(textOf(clientId)) && typeof scope === 'string') {
      const known = allScopes(config);
      const named = scope.split(' ').filter((name) => name !== '');
      if (!named.some((name) => known.includes(name))) {
        ctx.query = { ...ctx.query, scope: [...named, ...config.gateway.scopes].join(' ') };
      }
    }
    await next();
  };
}

/**
 * Keeps the sign-in of a host apart from those of the pages in the same browser: it replaces no session, so a sign-out of the pages ends
 * no host, and still reaches all pages.
 */
export function withoutSession(cookie: string) {
  return async (ctx: KoaContextWithOIDC, next: () => Promise<void>): Promise<void> => {
    await next();
    if (!isHost(ctx.oidc?.client?.clientId)) return;
    const set = ctx.response.headers['set-cookie'] ?? [];
    const kept = [set]
      .flat()
      .map(String)
      .filter((line) => !line.startsWith(cookie));
    if (kept.length > 0) ctx.set('Set-Cookie', kept);
    else ctx.remove('Set-Cookie');
  };
}

/**
 * Refuses a token for a sign-in whose host is no longer the one that the person agreed to, and ends it. The person is then asked again.
 */
export function demandAgreement(state: HostState, onChange: (clientId: string) => void) {
  return (ctx: KoaContextWithOIDC, grantId: string | undefined): void => {
    const { client } = ctx.oidc;
    if (client === undefined || !isHost(client.clientId) || grantId === undefined) return;
    const agreement = state.grants.agreement(grantId);
    if (agreement !== undefined && stillHolds(agreement, client)) return state.clients.touch(client.clientId);
    state.grants.revoke(grantId);
    if (agreement !== undefined) onChange(client.clientId);
    throw new errors.InvalidGrant('the program has changed since the person agreed');
  };
}

const CONNECT_AGAIN = 'Remove the sign-in of the program for this server, and connect the program again.';

/** Why a host cannot sign in, in words for the person. */
export function problemOf(error: unknown, clientId: unknown): Problem | undefined {
  if (error instanceof errors.InvalidRedirectUri) {
    return {
      detail: 'This program asked to be sent to an address that it has not registered.',
      nextStep: `If you did not start this sign-in, close this window. ${CONNECT_AGAIN}`,
    };
  }
  if (!(error instanceof errors.InvalidClient) && !(error instanceof errors.InvalidClientMetadata)) return undefined;
  if (typeof clientId !== 'string' || kindOfHost(clientId) !== 'document' || !URL.canParse(clientId)) {
    return { detail: 'This program is not known here.', nextStep: CONNECT_AGAIN };
  }
  return {
    detail: `This program could not be identified: its document at ${new URL(clientId).host} could not be read.`,
    nextStep:
      'If this machine cannot reach that address, set identity.hosts.metadataDocuments to false. The program then registers. ' +
      'Sign in again from the program.',
  };
}
