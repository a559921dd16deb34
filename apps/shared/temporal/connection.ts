import { Client, Connection, type ConnectionLike, isGrpcServiceError } from '@temporalio/client';
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

type Within = <T>(request: () => Promise<T>) => Promise<T>;

/** Bounds each request to the engine. */
export const boundedBy =
  (client: Client, { clock, limits }: Timing): Within =>
  (request) =>
    client.withDeadline(clock.now() + limits.engineMs, request);

/** gRPC's status for what is not there. */
const NOT_FOUND = 5;

/**
 * Where the engine answers and does not have the namespace of the configuration: what is missing, and the command that makes
 * it. Undefined where it is there, and where that cannot be told: a worker that works in it finds out.
 */
export async function missingNamespace(
  { workflowService }: Pick<ConnectionLike, 'workflowService'>,
  { address, namespace }: Pick<Config['temporal'], 'namespace'> & { address: string },
): Promise<{ readonly what: string; readonly nextStep: string } | undefined> {
  try {
    await workflowService.describeNamespace({ namespace });
    return undefined;
  } catch (error) {
    if (!isGrpcServiceError(error) || Number(error.code) !== NOT_FOUND) return undefined;
    const command = `temporal operator namespace create --address ${address} --namespace ${namespace}`;
    return {
      what: `Temporal at ${address} has no namespace ${namespace}`,
      nextStep: `create it with \`${command}\`, or name another one in temporal.namespace`,
    };
  }
}
