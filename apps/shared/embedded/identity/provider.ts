import Provider, { errors, type Configuration, type KoaContextWithOIDC } from 'oidc-provider';
import { resourcesOf } from '../../auth/resources.ts';
import { CALLBACK_PATH, WEB_CLIENT_ID } from '../../auth/sign-in.ts';
import type { Config, Person } from '../../config/config.ts';
import { clientSecretOf, type IdentitySecrets } from '../../config/development-secrets.ts';
import { createMemoryAdapter } from './memory-adapter.ts';
import { problemPage, signInPath } from './sign-in-page.tsx';

export interface ProviderSettings {
  readonly config: Config;
  readonly identity: IdentitySecrets;
  /** Secret of the client that the product's own pages are. */
  readonly webClientSecret: string;
}

export const SESSION_COOKIE = 'identity_session';
const HOUR_SECONDS = 3_600;
const CODE_SECONDS = 60;

/**
 * The OpenID provider of development. Every person is also a client of the same name, so that a program gets a token
 * for them by an ordinary client-credentials grant; the pages sign people in by authorization code with PKCE.
 * Access tokens are JWTs for one resource each, and carry the person's roles.
 */
export function createProvider(settings: ProviderSettings): Provider {
  const { config, identity } = settings;
  const people = new Map(config.identity.people.map((person) => [person.name, person]));
  const claimsOf = (person: Person) => ({
    name: person.displayName ?? person.name,
    [config.identity.rolesClaim]: person.roles,
  });
  return new Provider(config.urls.issuer, {
    adapter: createMemoryAdapter(),
    clients: [...config.identity.people.map((person) => personClient(person, identity)), webClient(settings)],
    jwks: { keys: [identity.signingKey] },
    cookies: {
      keys: [identity.cookieKey],
      // Cookies do not tell ports apart: other servers on this host must not be able to overwrite these by accident.
      names: { session: SESSION_COOKIE, interaction: 'identity_interaction', resume: 'identity_resume' },
    },
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
    claims: { openid: ['sub', 'name', config.identity.rolesClaim], profile: [] },
    conformIdTokenClaims: false,
    scopes: ['openid', 'profile'],
    pkce: { required: () => true },
    ttl: lifetimes(),
    features: featuresOf(config),
    findAccount: (_ctx, id) => {
      const person = people.get(id);
      return person && { accountId: id, claims: () => ({ sub: id, ...claimsOf(person) }) };
    },
    extraTokenClaims(_ctx, token) {
      const person = people.get(('accountId' in token ? token.accountId : undefined) ?? token.clientId ?? '');
      return person && claimsOf(person);
    },
    interactions: { url: (_ctx, { uid }) => signInPath(uid) },
    loadExistingGrant: grantToOurPages,
    renderError(ctx, out) {
      ctx.type = 'html';
      ctx.body = problemPage(out.error_description ?? out.error);
    },
  });
}

function featuresOf(config: Config): NonNullable<Configuration['features']> {
  const resources = new Map(Object.values(resourcesOf(config)).map((resource) => [resource.audience, resource]));
  return {
    devInteractions: { enabled: false },
    rpInitiatedLogout: { enabled: false },
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      // A program that names no resource wants tools; a sign-in wants no access token at all.
      defaultResource: (ctx) => (isForProgram(ctx) ? config.urls.mcp : []),
      useGrantedResource: () => false,
      getResourceServerInfo(_ctx, indicator) {
        const resource = resources.get(indicator);
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

function webClient({ config, webClientSecret }: ProviderSettings) {
  return {
    client_id: WEB_CLIENT_ID,
    client_secret: webClientSecret,
    grant_types: ['authorization_code'],
    redirect_uris: [config.urls.approvals, config.urls.audit].map((url) => `${url}${CALLBACK_PATH}`),
  };
}

function lifetimes(): NonNullable<Configuration['ttl']> {
  return {
    AccessToken: HOUR_SECONDS,
    AuthorizationCode: CODE_SECONDS,
    ClientCredentials: HOUR_SECONDS,
    Grant: HOUR_SECONDS,
    IdToken: HOUR_SECONDS,
    Interaction: HOUR_SECONDS,
    Session: HOUR_SECONDS,
  };
}

function isForProgram(ctx: KoaContextWithOIDC): boolean {
  return ctx.oidc.params?.['grant_type'] === 'client_credentials';
}

/** The product's own pages need no consent of the person who signs in to them. */
async function grantToOurPages(ctx: KoaContextWithOIDC) {
  const { client, session, provider } = ctx.oidc;
  if (client?.clientId !== WEB_CLIENT_ID || session?.accountId === undefined) return undefined;
  const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId });
  grant.addOIDCScope('openid profile');
  await grant.save();
  return grant;
}
