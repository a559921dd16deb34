import type { IncomingMessage, RequestListener } from 'node:http';
import { PROBES } from './health.ts';

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]'];
const MISDIRECTED =
  'This service does not answer for the host that the request names. Use its configured address, or set the url of this service to the one that you use.\n';

/**
 * Names of hosts for which a server answers: those of its addresses, the interface it listens on, and, where one of these is this
 * machine, every name of this machine.
 */
export function hostsOf(host: string, urls: readonly string[]): ReadonlySet<string> {
  const own = [...urls, `http://${host.includes(':') ? `[${host}]` : host}`].map((url) => new URL(url).hostname);
  return new Set(own.some((name) => LOOPBACK.includes(name)) ? [...own, ...LOOPBACK] : own);
}

/**
 * Refuses requests that name another host (421), before anything else is looked at: a page of another site, made to look like this host
 * by its name service, names that site. Probes of orchestrators may name any host: they learn no more than the state of the process.
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
  // A host and perhaps a port, and nothing that a reader of addresses would take for a name, a path or a question.
  return /^[\w.:[\]-]+$/.test(host) && URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname : '';
}

/** Longest path that a sign-in brings people back to; it travels in a cookie. */
const LONGEST = 1_000;
const START = '/';

/**
 * The path on this site that `wanted` leads to, for a redirect: it begins with exactly one slash, has no backslash, and no
 * browser takes it for the address of another site. The start for everything that leads elsewhere, or is no address.
 *
 * The address is parsed first and the path written from what was parsed. `/.//other.example` has the path `//other.example`,
 * which is on this site as part of an address and on another one as a redirect.
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

/** Whether this is plain http to this very machine: nobody else can listen or answer in its place. */
export function isLoopbackHttp({ protocol, hostname }: URL): boolean {
  return protocol === 'http:' && ['127.0.0.1', 'localhost', '[::1]'].includes(hostname);
}

/** Whether a server that listens on this interface is reached from this machine alone. */
export const isLoopbackHost = (host: string): boolean => host === 'localhost' || host === '::1' || /^127\./.test(host);
