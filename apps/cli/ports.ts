import { createServer } from 'node:net';
import type { Config } from '../shared/config/config.ts';

/** A port that Countersign listens on, with its setting. */
export interface OwnPort {
  readonly setting: string;
  readonly port: number;
  readonly url: string;
}

/** The ports of `countersign up`. The embedded identity provider has one, another provider does not. */
export function portsOf({ gateway, pdp, approvals, audit, identity, urls }: Config): readonly OwnPort[] {
  return [
    { setting: 'gateway.port', port: gateway.port, url: urls.gateway },
    { setting: 'pdp.port', port: pdp.port, url: urls.pdp },
    { setting: 'approvals.port', port: approvals.port, url: urls.approvals },
    { setting: 'audit.port', port: audit.port, url: urls.audit },
    ...(identity.issuer === undefined ? [{ setting: 'identity.port', port: identity.port, url: urls.issuer }] : []),
  ];
}

/** Returns `EADDRINUSE`, `EACCES` or another code for a port that cannot be used. */
export function portTrouble(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}

/** The problem of a port that cannot be used, and after a semicolon the next step. */
export function portAdvice({ setting, port }: OwnPort, trouble: string | undefined): string | undefined {
  if (trouble === undefined) return undefined;
  if (trouble === 'EADDRINUSE') {
    return `port ${port} (${setting}) is in use by another program; stop that program, or set ${setting} in countersign.yaml`;
  }
  if (trouble === 'EACCES') return `port ${port} (${setting}) needs another user; set a port above 1023`;
  return `port ${port} (${setting}) cannot be used (${trouble}); set host and ${setting} in countersign.yaml`;
}
