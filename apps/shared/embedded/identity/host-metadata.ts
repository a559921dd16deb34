import { errors } from 'oidc-provider';
import { kindOfHost } from './hosts.ts';

const MAX_REDIRECTS = 10;
const LONGEST_ADDRESS = 1_000;
const LONGEST_NAME = 100;
/** What the issuer keeps of the metadata. Other members could name addresses to fetch, or change the protocol. */
const KEPT = [
  ...['client_id', 'client_name', 'client_uri', 'redirect_uris', 'token_endpoint_auth_method'],
  ...['client_secret', 'client_id_issued_at', 'client_secret_expires_at'],
];
/** Schemes that start another program with an address, and carry no answer to a sign-in. The library refuses `javascript:` and its kind. */
const REFUSED_SCHEMES = ['mailto', 'tel', 'sms', 'ws', 'wss', 'ftp', 'view-source', 'intent'];

/**
 * Makes the metadata of a host one of a native program with an authorization code and refresh tokens. Hosts ask for
 * more than they use, and a refusal would keep them out. Changes nothing for other clients. Throws for metadata that is not acceptable.
 * @see RFC 7591, section 2: the server may replace requested values
 * @see RFC 7592, section 2.2: a null value is an absent one; some hosts write an empty client_uri for it
 */
export function asHost(metadata: Record<string, unknown>): void {
  const kind = typeof metadata['client_id'] === 'string' ? kindOfHost(metadata['client_id']) : undefined;
  if (kind === undefined) return;
  for (const [name, value] of Object.entries(metadata))
    if (!KEPT.includes(name) || value === null || (name === 'client_uri' && value === '')) delete metadata[name];
  Object.assign(metadata, {
    // Only a native program may use any port of its own machine, and has to ask the person each time. @see RFC 8252, sections 7.3 and 8.6
    application_type: 'native',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    response_modes: ['query'],
    id_token_signed_response_alg: 'ES256',
  });
  if (kind === 'document') metadata['token_endpoint_auth_method'] = 'none';
  refuseBadName(metadata['client_name'], kind === 'document');
  refuseBadRedirects(metadata['redirect_uris']);
}

function refuseBadName(name: unknown, isRequired: boolean): void {
  if (name === undefined && !isRequired) return;
  if (typeof name !== 'string' || name.trim() === '' || !name.isWellFormed()) {
    throw invalid('client_name must be a text');
  }
  if (name.length > LONGEST_NAME) throw invalid(`client_name must be at most ${LONGEST_NAME} characters`);
}

function refuseBadRedirects(uris: unknown): void {
  if (!Array.isArray(uris) || uris.length === 0) throw invalid('redirect_uris must be a list of addresses');
  if (uris.length > MAX_REDIRECTS) throw invalid(`redirect_uris must be at most ${MAX_REDIRECTS}`);
  for (const uri of uris as unknown[]) {
    const fault = typeof uri === 'string' ? faultOfRedirect(uri) : 'must be texts';
    if (fault !== undefined) throw invalid(`redirect_uris ${fault}`);
  }
}

const invalid = (message: string) => new errors.InvalidClientMetadata(message);

/**
 * What is wrong with an address for the answer, beyond what the library refuses (fragments, http to another machine). The page shows the
 * person where the answer goes, so an address has one spelling, in which browsers and readers see the same host.
 */
export function faultOfRedirect(uri: string): string | undefined {
  if (uri.length > LONGEST_ADDRESS) return `must be at most ${LONGEST_ADDRESS} characters`;
  const url = URL.canParse(uri) ? new URL(uri) : undefined;
  if (url === undefined) return 'must be addresses';
  if (url.href !== uri && url.href !== `${uri}/`) return 'must be written in their normal form';
  if (url.username !== '' || url.password !== '') return 'must have no user name';
  const scheme = url.protocol.slice(0, -1);
  return REFUSED_SCHEMES.includes(scheme) ? `must not use the ${scheme} scheme` : undefined;
}

/** A place to which the answer goes: a program on this machine, a site, or the program that opens addresses of a scheme. */
export interface Target {
  readonly kind: 'machine' | 'site' | 'scheme';
  /** The name of the host, or the scheme with its colon. */
  readonly name: string;
}

export function targetOf(redirectUri: string): Target {
  const { protocol, host, hostname } = new URL(redirectUri);
  if (protocol === 'https:') return { kind: 'site', name: host };
  // The library lets http lead only to this machine.
  return protocol === 'http:' ? { kind: 'machine', name: hostname } : { kind: 'scheme', name: protocol };
}

/**
 * The source for the `form-action` of the page whose answer leads to this address: Chromium holds redirects of the answer against it. The
 * grammar of sources has no IPv6 addresses. @see Content Security Policy Level 3, section 2.3.1
 */
export function formTargetOf(redirectUri: string): string {
  const { protocol, origin, hostname } = new URL(redirectUri);
  if (protocol !== 'http:' && protocol !== 'https:') return protocol;
  return hostname.startsWith('[') ? protocol : origin;
}

/** Whether a page of this origin may read answers of the token endpoint for a host that goes back to these addresses. */
export function mayRead(origin: string, redirectUris: readonly string[]): boolean {
  if (!URL.canParse(origin)) return false;
  const isLocal = targetOf(origin).kind === 'machine';
  return redirectUris.some((uri) => new URL(uri).origin === origin || (isLocal && new URL(uri).protocol === 'http:'));
}
