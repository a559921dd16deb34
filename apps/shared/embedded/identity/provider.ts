import { LRUCache } from 'lru-cache';
import Provider, {
  type Adapter,
  type AdapterFactory,
  type AdapterPayload,
  type Configuration,
  errors,
  type KoaContextWithOIDC,
} from 'oidc-provider';
import { resourcesOf } from '../../auth/client-credentials.ts';
import { CALLBACK_PATH } from '../../auth/sign-in.ts';
import { BACK_CHANNEL_LOGOUT_PATH, SIGNED_OUT_PATH } from '../../auth/sign-out.ts';
import { systemClock } from '../../clock.ts';
import type { Config, Person } from '../../config/config.ts';
import { clientSecretOf, type IdentitySecrets } from '../../config/development-secrets.ts';
import { problemPage, signInPath, signOutPage } from './sign-in-page.tsx';

export interface ProviderSettings {
  readonly config: Config;
  readonly identity: IdentitySecrets;
  /** Secret of the client for the product's own pages. */
  readonly webClientSecret: string;
}

export const SESSION_COOKIE = 'identity_session';
const HOUR_SECONDS = 3_600;
const CODE_SECONDS = 60;
/** Short, so that the pages refresh their token as they do at other issuers. */
const PAGE_TOKEN_SECONDS = 300;

/**
 * The OpenID provider of development. Every person is also a client of the same name, so that a program gets their token with a
 * client-credentials grant. The pages sign people in with an authorization code and PKCE. Access tokens are JWTs for one resource, with the
 * person's roles.
 */
export function createProvider(settings: ProviderSettings): Provider {
  const { config, identity } = settings;
  // Looked up each time, so that a person who is removed from the list loses their account, and a new one has it.
  const find = (name: string | undefined) => config.identity.people.find((person) => person.name === name);
  const claimsOf = (person: Person) => ({
    name: person.displayName ?? person.name,
    [config.identity.rolesClaim]: person.roles,
  });
  return new Provider(config.urls.issuer, {
    adapter: createMemoryAdapter((id) => {
      const person = find(id);
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
    claims: { openid: ['sub', 'name', config.identity.rolesClaim], profile: [] },
    conformIdTokenClaims: false,
    scopes: ['openid', 'profile'],
    pkce: { required: () => true },
    ttl: lifetimes(config),
    // It fetches only from our own pages on this machine, which its default dispatcher refuses.
    fetch: (url, options) => fetch(url, { ...options, dispatcher: undefined } as RequestInit),
    features: featuresOf(config),
    // Valid until the sign-in's session ends, and rotated, so that a used token is worthless.
    issueRefreshToken: (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    rotateRefreshToken: () => true,
    findAccount: (_ctx, id) => {
      const person = find(id);
      return person && { accountId: id, claims: () => ({ sub: id, ...claimsOf(person) }) };
    },
    extraTokenClaims(_ctx, token) {
      const person = find(('accountId' in token ? token.accountId : undefined) ?? token.clientId);
      return person && claimsOf(person);
    },
    interactions: { url: (_ctx, { uid }) => signInPath(uid) },
    loadExistingGrant: (ctx) => grantToOurPages(ctx, config),
    renderError(ctx, out) {
      ctx.type = 'html';
      ctx.body = problemPage(out.error_description ?? out.error);
    },
  });
}

function featuresOf(config: Config): NonNullable<Configuration['features']> {
  return {
    devInteractions: { enabled: false },
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
      defaultResource: (ctx) => (isForProgram(ctx) ? config.urls.mcp : []),
      useGrantedResource: () => false,
      getResourceServerInfo(_ctx, indicator) {
        // Read each time: tools may need other scopes by now.
        const resource = Object.values(resourcesOf(config)).find(({ audience }) => audience === indicator);
        if (resource === undefined) throw new errors.InvalidTarget();
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
      redirect_uris: own.map((url) => `${url}${CALLBACK_PATH}`),
      post_logout_redirect_uris: own.map((url) => `${url}${SIGNED_OUT_PATH}`),
      backchannel_logout_uri: `${own[0]}${BACK_CHANNEL_LOGOUT_PATH}`,
      backchannel_logout_session_required: true,
    };
  });
}

function lifetimes({ identity: { sessionSeconds } }: Config): NonNullable<Configuration['ttl']> {
  return {
    AccessToken: (_ctx, token) => token.resourceServer?.accessTokenTTL ?? PAGE_TOKEN_SECONDS,
    AuthorizationCode: CODE_SECONDS,
    ClientCredentials: HOUR_SECONDS,
    Grant: sessionSeconds,
    IdToken: HOUR_SECONDS,
    Interaction: HOUR_SECONDS,
    RefreshToken: sessionSeconds,
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

/**
 * Stores sign-ins under way, codes and sessions in memory. After a restart, people sign in again. Access tokens are not stored, so they
 * stay valid. `clientOf` knows clients that are not stored: it is asked at each request, so that they can change.
 */
export function createMemoryAdapter(
  clientOf: (id: string) => AdapterPayload | undefined = () => undefined,
): AdapterFactory {
  const stored = new LRUCache<string, AdapterPayload>({ ttl: HOUR_SECONDS * 1_000, ttlAutopurge: true });
  return (model): Adapter => {
    const findBy = (matches: (payload: AdapterPayload) => boolean) =>
      stored.find((payload, key) => key.startsWith(`${model}:`) && matches(payload));
    return {
      async upsert(id, payload, expiresIn = Infinity) {
        // The cache keeps an entry for ever with 0, not with a time that is over.
        const ttl = expiresIn === Infinity ? 0 : Math.max(1, expiresIn * 1_000);
        stored.set(`${model}:${id}`, payload, { ttl });
      },
      find: async (id) => (model === 'Client' ? clientOf(id) : undefined) ?? stored.get(`${model}:${id}`),
      findByUid: async (uid) => findBy((payload) => payload.uid === uid),
      findByUserCode: async (userCode) => findBy((payload) => payload.userCode === userCode),
      async consume(id) {
        const payload = stored.get(`${model}:${id}`);
        if (payload !== undefined) payload.consumed = Math.floor(systemClock.now() / 1_000);
      },
      async destroy(id) {
        stored.delete(`${model}:${id}`);
      },
      async revokeByGrantId(grantId) {
        for (const [key, payload] of [...stored.entries()]) if (payload.grantId === grantId) stored.delete(key);
      },
    };
  };
}
