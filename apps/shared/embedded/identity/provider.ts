import Provider, { type Configuration, errors, type KoaContextWithOIDC } from 'oidc-provider';
import type { Logger } from 'pino';
import { resourcesOf } from '../../auth/client-credentials.ts';
import { CALLBACK_PATH } from '../../auth/sign-in.ts';
import { BACK_CHANNEL_LOGOUT_PATH, SIGNED_OUT_PATH } from '../../auth/sign-out.ts';
import type { Config, Person } from '../../config/config.ts';
import { clientSecretOf, type IdentitySecrets } from '../../config/development-secrets.ts';
import type { GuardedAgent } from '../../http/guarded-agent.ts';
import { withLoopbackNames } from '../../http/known-hosts.ts';
import type { Timing } from '../../limits.ts';
import { createIssuerFetch, mayFetch } from './host-documents.ts';
import { asHost, mayRead } from './host-metadata.ts';
import {
  demandAgreement,
  keepErrorsHere,
  mcpNames,
  problemOf,
  withDefaultScopes,
  withoutSession,
} from './host-policy.ts';
import type { HostState } from './host-state.ts';
import { isHost, newHostId, OIDC_SCOPES } from './hosts.ts';
import { createAdapter } from './memory-adapter.ts';
import { problemPage, signInPath, signOutPage } from './sign-in-page.tsx';

export interface ProviderSettings extends Timing {
  readonly config: Config;
  readonly identity: IdentitySecrets;
  /** Secret of the client for the product's own pages. */
  readonly webClientSecret: string;
  /** What is kept of hosts over a restart. */
  readonly state: HostState;
  /** For requests to addresses that hosts name. */
  readonly guard: GuardedAgent;
  readonly log: Logger;
}

export const SESSION_COOKIE = 'identity_session';
const HOUR_SECONDS = 3_600;
/** How long a document of a host is used, as its answer says, within these. */
const DOCUMENT_SECONDS = { min: 30, max: HOUR_SECONDS };
/** The library lets a member of its own call our check of the metadata. Nothing is stored under this name. */
const HOST_CHECK = 'countersign_host';
const CODE_SECONDS = 60;
/** Short, so that the pages refresh their token as they do at other issuers. */
const PAGE_TOKEN_SECONDS = 300;

/**
 * The OpenID provider of development. Every person is also a client of the same name, so that a program gets their token with a
 * client-credentials grant. The pages sign people in with an authorization code and PKCE. Access tokens are JWTs for one resource, with the
 * person's roles.
 */
export function createProvider(settings: ProviderSettings): Provider {
  const { config, identity, state } = settings;
  const provider = new Provider(config.urls.issuer, {
    adapter: createAdapter(state, (id) => {
      // Looked up each time, because the list of people can change.
      const person = config.identity.people.find(({ name }) => name === id);
      return person && personClient(person, identity);
    }),
    clients: pageClients(settings),
    jwks: { keys: [identity.signingKey] },
    cookies: {
      keys: [identity.cookieKey],
      // Cookies ignore ports: other servers on this host must not overwrite these by accident.
      names: { session: SESSION_COOKIE, interaction: 'identity_interaction', resume: 'identity_resume' },
    },
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
    // Every ID token says when its person signed in, so that a sign-in of this minute counts as fresh.
    claims: { openid: ['sub', 'name', 'auth_time', config.identity.rolesClaim], profile: [] },
    conformIdTokenClaims: false,
    scopes: OIDC_SCOPES,
    pkce: { required: () => true },
    ttl: lifetimes(config),
    fetch: issuerFetch(settings),
    features: featuresOf(settings),
    ...ofClients,
    ...accountsOf(settings),
    // Valid until the sign-in's session ends, and rotated, so that a used token is worthless.
    issueRefreshToken: (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    rotateRefreshToken: () => true,
    interactions: { url: (_ctx, { uid }) => signInPath(uid) },
    // A host has a grant only by an answer of this sign-in. No earlier one counts.
    loadExistingGrant: (ctx) => (isHost(ctx.oidc.client?.clientId) ? grantByAnswer(ctx) : grantToOurPages(ctx, config)),
    renderError(ctx, out, error) {
      if (ctx.status < 400) ctx.status = 400;
      ctx.type = 'html';
      const problem = problemOf(error, ctx.query['client_id']);
      ctx.body = problemPage(problem ?? { detail: out.error_description ?? out.error });
    },
  });
  provider.on('authorization.error', keepErrorsHere);
  provider.use(withDefaultScopes(config));
  provider.use(withoutSession(SESSION_COOKIE));
  return provider;
}

/** What clients may do, and the metadata that a host may have. */
const ofClients: Configuration = {
  responseTypes: ['code'],
  // No keys of clients: the only address that a client makes this server fetch is its own id.
  clientAuthMethods: ['none', 'client_secret_basic', 'client_secret_post'],
  extraClientMetadata: { properties: [HOST_CHECK], validator: (_ctx, _name, _value, metadata) => asHost(metadata) },
  clientBasedCORS: (_ctx, origin, client) => isHost(client.clientId) && mayRead(origin, client.redirectUris ?? []),
  // Sessions are in memory, and a host stays signed in over a restart.
  expiresWithSession: (_ctx, { clientId }) => !isHost(clientId),
};

/** The people behind tokens. A host that has changed since its person agreed gets none. */
function accountsOf({ config, state, log }: ProviderSettings): Configuration {
  // Looked up each time, so that a person who is removed from the list loses their account.
  const find = (name: string | undefined) => config.identity.people.find((person) => person.name === name);
  const claimsOf = (person: Person) => ({
    name: person.displayName ?? person.name,
    [config.identity.rolesClaim]: person.roles,
  });
  const demand = demandAgreement(state, (client) => {
    log.warn({ event: 'host_changed', client }, 'a host has changed since a person agreed to it, and has to ask again');
  });
  return {
    findAccount: (ctx, id, token) => {
      demand(ctx, token?.grantId);
      const person = find(id);
      return person && { accountId: id, claims: () => ({ sub: id, ...claimsOf(person) }) };
    },
    extraTokenClaims(_ctx, token) {
      const person = find(('accountId' in token ? token.accountId : undefined) ?? token.clientId);
      return person && claimsOf(person);
    },
  };
}

function issuerFetch({ config, state, guard, clock, limits }: ProviderSettings): Configuration['fetch'] {
  const ownPages = new Set(
    [config.urls.approvals, config.urls.audit].map((url) => `${url}${BACK_CHANNEL_LOGOUT_PATH}`),
  );
  return createIssuerFetch({ ownPages, guard, documents: state.documents, clock, limits });
}

async function grantByAnswer(ctx: KoaContextWithOIDC) {
  const grantId = ctx.oidc.result?.consent?.grantId;
  return grantId === undefined ? undefined : ctx.oidc.provider.Grant.find(grantId);
}

function featuresOf({ config, guard }: ProviderSettings): NonNullable<Configuration['features']> {
  const { hosts } = config.identity;
  const names = mcpNames(config);
  // Read each time: tools may need other scopes by now.
  const resourceAt = (audience: string) => Object.values(resourcesOf(config)).find((one) => one.audience === audience);
  return {
    devInteractions: { enabled: false },
    // Hosts would try what the metadata names.
    dPoP: { enabled: false },
    pushedAuthorizationRequests: { enabled: false },
    revocation: { enabled: true, allowedPolicy: (_ctx, client, token) => client.clientId === token.clientId },
    registration: { enabled: hosts.registration, idFactory: newHostId, issueRegistrationAccessToken: false },
    clientIdMetadataDocument: {
      enabled: hosts.metadataDocuments,
      ack: 'draft-02',
      allowFetch: (_ctx, clientId) => mayFetch(guard, clientId),
      cacheDuration: DOCUMENT_SECONDS,
    },
    rpInitiatedLogout: {
      enabled: true,
      logoutSource(ctx, form) {
        ctx.type = 'html';
        ctx.body = signOutPage(form);
      },
    },
    backchannelLogout: { enabled: true },
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      // A program without a resource calls tools; a sign-in needs no access token.
      defaultResource(ctx, client, asked) {
        if (asked?.length === 1) return asked[0] ?? [];
        return isForProgram(ctx) || isHost(client.clientId) ? config.urls.mcp : [];
      },
      useGrantedResource: (_ctx, { clientId }) => isHost(clientId),
      getResourceServerInfo(_ctx, indicator, client) {
        // A host calls tools. It gets no token for the inbox or the audit pages, also if its person has a right there.
        const isForTools = names.has(indicator);
        const resource = isHost(client.clientId) ? isForTools && resourceAt(config.urls.mcp) : resourceAt(indicator);
        if (!resource) throw new errors.InvalidTarget();
        const jwt = { sign: { alg: 'ES256' as const } };
        return { ...resource, accessTokenFormat: 'jwt', accessTokenTTL: HOUR_SECONDS, jwt };
      },
    },
  };
}

function personClient(person: Person, identity: IdentitySecrets) {
  return {
    client_id: person.name,
    client_secret: clientSecretOf(identity, person.name),
    grant_types: ['client_credentials'],
    response_types: [],
    redirect_uris: [],
  };
}

/** The clients of the product's own pages. Where both sites are one client, only the inbox learns of a sign-out. */
function pageClients({ config, webClientSecret }: ProviderSettings) {
  const { approvals, audit, urls } = config;
  const pages = [
    { clientId: approvals.clientId, url: urls.approvals },
    { clientId: audit.clientId, url: urls.audit },
  ];
  return [...new Set(pages.map(({ clientId }) => clientId))].map((clientId) => {
    const own = pages.filter((page) => page.clientId === clientId).map(({ url }) => url);
    return {
      client_id: clientId,
      client_secret: webClientSecret,
      grant_types: ['authorization_code', 'refresh_token'],
      redirect_uris: own.flatMap((url) => [...withLoopbackNames(`${url}${CALLBACK_PATH}`)]),
      post_logout_redirect_uris: own.map((url) => `${url}${SIGNED_OUT_PATH}`),
      backchannel_logout_uri: `${own[0]}${BACK_CHANNEL_LOGOUT_PATH}`,
      backchannel_logout_session_required: true,
    };
  });
}

function lifetimes({ identity: { sessionSeconds, hosts } }: Config): NonNullable<Configuration['ttl']> {
  const bySignIn = (_ctx: unknown, { clientId }: { clientId?: string | undefined }) =>
    isHost(clientId) ? hosts.sessionSeconds : sessionSeconds;
  return {
    AccessToken: (_ctx, token) => token.resourceServer?.accessTokenTTL ?? PAGE_TOKEN_SECONDS,
    AuthorizationCode: CODE_SECONDS,
    ClientCredentials: HOUR_SECONDS,
    // Counts from the sign-in, so that a rotated token prolongs nothing.
    Grant: bySignIn,
    IdToken: HOUR_SECONDS,
    Interaction: HOUR_SECONDS,
    RefreshToken: bySignIn,
    Session: sessionSeconds,
  };
}

const isForProgram = (ctx: KoaContextWithOIDC): boolean => ctx.oidc.params?.['grant_type'] === 'client_credentials';

/** The product's own pages need no consent. */
async function grantToOurPages(ctx: KoaContextWithOIDC, { approvals, audit }: Config) {
  const { client, session, provider } = ctx.oidc;
  const isOurs = client !== undefined && [approvals.clientId, audit.clientId].includes(client.clientId);
  if (!isOurs || session?.accountId === undefined) return undefined;
  const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId });
  grant.addOIDCScope('openid profile');
  await grant.save();
  return grant;
}
