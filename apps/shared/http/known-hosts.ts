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
