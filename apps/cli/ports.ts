import { createServer } from 'node:net';
import type { Config } from '../shared/config/config.ts';

/** A port that this product listens on, and the setting that chooses it. */
export interface OwnPort {
  readonly setting: string;
  readonly port: number;
  readonly url: string;
}

/** The ports of everything that runs in one process; that of the identity provider only when it is the embedded one. */
export function portsOf({ gateway, pdp, approvals, audit, identity, urls }: Config): readonly OwnPort[] {
  return [
    { setting: 'gateway.port', port: gateway.port, url: urls.gateway },
    { setting: 'pdp.port', port: pdp.port, url: urls.pdp },
    { setting: 'approvals.port', port: approvals.port, url: urls.approvals },
    { setting: 'audit.port', port: audit.port, url: urls.audit },
    ...(identity.issuer === undefined ? [{ setting: 'identity.port', port: identity.port, url: urls.issuer }] : []),
  ];
}

/** Whether nobody listens there and we may: `EADDRINUSE`, `EACCES` or another code when not. */
export function portTrouble(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}

/** What to do about a port that cannot be used. */
export function portAdvice({ setting, port }: OwnPort, trouble: string): string {
  if (trouble === 'EADDRINUSE') {
    return `port ${port} (${setting}) is in use by another program; stop that, or set ${setting} in countersign.yaml`;
  }
  if (trouble === 'EACCES') return `port ${port} (${setting}) may not be used by this user; set one above 1023`;
  return `port ${port} (${setting}) cannot be used (${trouble}); set host and ${setting} in countersign.yaml`;
}
