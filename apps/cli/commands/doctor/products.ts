/** Identity products whose own words `doctor` knows. */
const PRODUCTS = ['Keycloak', 'Entra ID', 'Okta', 'Auth0'] as const;
export type Product = (typeof PRODUCTS)[number];

/** What the operator has to provide at the issuer. */
export interface Wanted {
  readonly audience: string;
  readonly scopes: readonly string[];
}

type Places = Readonly<Record<Product, (wanted: Wanted) => string>>;

const named = ({ scopes }: Wanted) => scopes.join(' and ');

/** Where each product keeps what a token needs. The pages in docs/issuers say more. */
const PLACES = {
  jwt: {
    Keycloak: () => 'its access tokens are JWTs: use access_token of the answer, not refresh_token',
    'Entra ID': () => 'request a scope of your own API; tokens for Microsoft Graph are for Microsoft only',
    Okta: () => 'use an issuer below /oauth2; tokens of the org authorization server are for Okta only',
    Auth0: ({ audience }) => `request the token with audience=${audience}; without an audience it is no JWT`,
  },
  issuer: {
    Keycloak: () => 'its issuer ends in /realms/<realm>, and starts with the hostname that Keycloak is set to',
    'Entra ID': () =>
      'use https://login.microsoftonline.com/<tenant id>/v2.0, and set requestedAccessTokenVersion to 2 in the manifest of the API',
    Okta: () => 'the issuer is below Security > API > Authorization Servers, and ends in /oauth2/<id>',
    Auth0: () => 'the issuer is the domain of the tenant or your own domain, with a slash at its end',
  },
  audience: {
    Keycloak: ({ audience }) =>
      `Client scopes > the scope of the gateway > Mappers > Audience, Included Custom Audience ${audience}`,
    'Entra ID': () => 'aud is the Application (client) ID of the API: set gateway.audience to it',
    Okta: ({ audience }) => `Security > API > Authorization Servers > Settings, Audience ${audience}`,
    Auth0: ({ audience }) => `Applications > APIs, an API with the Identifier ${audience}, which the client requests`,
  },
  subject: {
    Keycloak: () => 'sub comes from the client scope basic: add it to the client as a default',
    'Entra ID': () => 'every access token has sub: is this one?',
    Okta: () => 'Security > API > Authorization Servers > Claims, sub',
    Auth0: () => 'every access token has sub: is this one?',
  },
  client: {
    Keycloak: () => 'azp; mappers and lightweight access tokens can change it',
    'Entra ID': () => 'azp, in tokens of version 2: set requestedAccessTokenVersion to 2 in the manifest of the API',
    Okta: () => 'cid',
    Auth0: () => 'azp, or client_id with the token profile RFC 9068',
  },
  scopes: {
    Keycloak: (wanted) =>
      `scope; Client scopes: add ${named(wanted)} with Include in token scope, add it to the client, and request it`,
    'Entra ID': (wanted) =>
      `scp; Expose an API: add ${named(wanted)}, and request api://<id>/<scope>. Programs without a person have no scp`,
    Okta: (wanted) =>
      `scp; Security > API > Authorization Servers > Scopes: add ${named(wanted)}, let an access policy grant it, and request it`,
    Auth0: (wanted) => `scope; Applications > APIs > Permissions: add ${named(wanted)}, and request it`,
  },
  roles: {
    Keycloak: () => 'realm_access.roles for roles of the realm, by the client scope roles',
    'Entra ID': () => 'roles, by App registrations > App roles and an assignment',
    Okta: () => 'no claim of its own: Security > API > Authorization Servers > Claims, roles from groups',
    Auth0: () => 'no claim of its own: an Action after login writes a claim with an https address as its name',
  },
} as const satisfies Record<string, Places>;

/** Where the product keeps it. Without a product, where each of them does, one line for each. */
export function placesOf(what: keyof typeof PLACES, product: Product | undefined, wanted: Wanted): string {
  const places: Places = PLACES[what];
  if (product !== undefined) return `${product}: ${places[product](wanted)}`;
  return PRODUCTS.map((one) => `${one}: ${places[one](wanted)}`).join('\n');
}

const ISSUERS: readonly (readonly [Product, RegExp])[] = [
  ['Entra ID', /^https:\/\/(login\.microsoftonline\.|login\.partner\.microsoftonline\.|sts\.windows\.net)/],
  ['Okta', /^https:\/\/[^/]+\.(okta|oktapreview|okta-emea)\.com(\/|$)/],
  ['Auth0', /^https:\/\/[^/]+\.auth0\.com\/$/],
  ['Keycloak', /\/realms\/[^/]+$/],
];
/** A product under a domain of its customer is known by the path of its token endpoint. */
const TOKEN_ENDPOINTS: readonly (readonly [Product, RegExp])[] = [
  ['Entra ID', /\/oauth2\/v2\.0\/token$/],
  ['Okta', /\/oauth2\/([^/]+\/)?v1\/token$/],
  ['Auth0', /\/oauth\/token$/],
];

/** The product behind an issuer, by its address or its metadata; undefined where neither shows it. */
export function productOf(issuer: string, tokenEndpoint = ''): Product | undefined {
  const byIssuer = ISSUERS.find(([, pattern]) => pattern.test(issuer));
  const byEndpoint = TOKEN_ENDPOINTS.find(([, pattern]) => pattern.test(tokenEndpoint));
  return (byIssuer ?? byEndpoint)?.[0];
}
