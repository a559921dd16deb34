import { Client, Connection } from '@temporalio/client';
import type { Config } from '../config/config.ts';
import type { Timing } from '../limits.ts';

/** A client of the configured Temporal namespace. Connects lazily: Temporal may be away when this process starts. */
export function createTemporalClient(temporal: Pick<Config['temporal'], 'namespace' | 'tls'> & { address: string }): {
  client: Client;
  close(): Promise<void>;
} {
  const connection = Connection.lazy({ address: temporal.address, tls: temporal.tls });
  return {
    client: new Client({ connection, namespace: temporal.namespace }),
    close: () => connection.close(),
  };
}

export type Within = <T>(request: () => Promise<T>) => Promise<T>;

/** Bounds each request to the engine. */
export const boundedBy =
  (client: Client, { clock, limits }: Timing): Within =>
  (request) =>
    client.withDeadline(clock.now() + limits.engineMs, request);
