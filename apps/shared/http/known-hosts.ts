import type { IncomingMessage, RequestListener } from 'node:http';

/** Paths of probes (see health.ts). Their `Host` may be anything, most often the address of the process. */
const PROBES: ReadonlySet<string> = new Set(['/livez', '/readyz', '/healthz']);

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]'];
const MISDIRECTED =
  'This service does not answer for the host in the request. Use its configured address, or set the url of this service to the address that you use.\n';

/**
 * The hosts for which a server answers: those of its addresses, the interface it listens on, and, if one of these is this machine,
 * every loopback name.
 */
export function hostsOf(host: string, urls: readonly string[]): ReadonlySet<string> {
  const own = [...urls, `http://${host.includes(':') ? `[${host}]` : host}`].map((url) => new URL(url).hostname);
  return new Set(own.some((name) => LOOPBACK.includes(name)) ? [...own, ...LOOPBACK] : own);
}

/**
 * Refuses requests for another host (421) before anything else. This stops DNS rebinding: a page of another site whose name resolves to
 * this host sends that site's name. Probes may name any host, because they learn only the state of the process.
 * @see RFC 9110, section 15.5.20
 */
export function forHosts(hosts: ReadonlySet<string>, app: RequestListener): RequestListener {
  return (request, response) => {
    if (PROBES.has(request.url ?? '') || hosts.has(hostOf(request))) return app(request, response);
    response
      .writeHead(421, { 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'no-store' })
      .end(MISDIRECTED);
  };
}

function hostOf({ headers }: IncomingMessage): string {
  const { host = '' } = headers;
  // Only a host and an optional port: no character that URL parsers take for user info, a path or a query.
  return /^[\w.:[\]-]+$/.test(host) && URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname : '';
}

/** The longest path to which a sign-in leads back; it travels in a cookie. */
const LONGEST = 1_000;
const START = '/';

/**
 * The path on this site that `wanted` leads to, for a redirect. It begins with exactly one slash and has no backslash, so no browser
 * takes it for the address of another site. `/` for an address of another site, and for any other text.
 *
 * The path is written from the parsed address: `/.//other.example` has the path `//other.example`, which would lead to another site as
 * a redirect.
 * @see WHATWG URL Standard, path-absolute-URL string and scheme-relative URL string
 */
export function ownPath(wanted: unknown, baseUrl: string): string {
  const { origin, protocol } = new URL(baseUrl);
  if (typeof wanted !== 'string' || !URL.canParse(wanted, origin)) return START;
  const target = new URL(wanted, origin);
  if (target.origin !== origin || target.protocol !== protocol) return START;
  const path = `/${target.pathname.replace(/^[/\\]+/, '')}${target.search}`.replaceAll('\\', '%5C');
  return path.length <= LONGEST ? path : START;
}

/** Whether this is plain http to this machine, so that no other machine can listen or answer in its place. */
export const isLoopbackHttp = ({ protocol, hostname }: URL): boolean =>
  protocol === 'http:' && LOOPBACK.includes(hostname);

/** Whether only this machine reaches a server on this interface. */
export const isLoopbackHost = (host: string): boolean => host === 'localhost' || host === '::1' || /^127\./.test(host);

/** The address under every name of this machine, if it is on this machine; otherwise the address alone. */
export function withLoopbackNames(address: string): ReadonlySet<string> {
  if (!LOOPBACK.includes(new URL(address).hostname)) return new Set([address]);
  const named = LOOPBACK.map((hostname) => Object.assign(new URL(address), { hostname }).href);
  return new Set([address, ...named]);
}

/** The address under the name in a `Host` header, if both are this machine and the same port. Otherwise the address as it is. */
export function underNameOf(host: string | undefined, address: string): string {
  const named = [...withLoopbackNames(address)].find((other) => new URL(other).host === host?.toLowerCase());
  return named ?? address;
}
