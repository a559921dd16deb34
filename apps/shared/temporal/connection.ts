import { Client, Connection, type ConnectionLike, isGrpcServiceError } from '@temporalio/client';
import type { Config } from '../config/config.ts';
import type { Timing } from '../limits.ts';
import type { Need } from '../needs.ts';

/** Where the engine is. */
export type Engine = Pick<Config['temporal'], 'namespace' | 'tls'> & { readonly address: string };

/** A client of the configured Temporal namespace. Connects lazily, because Temporal may be down when this process starts. */
export function createTemporalClient({ address, tls, namespace }: Engine) {
  const connection = Connection.lazy({ address, tls });
  return { client: new Client({ connection, namespace }), close: () => connection.close() };
}

/** Bounds each request to the engine. */
export const boundedBy =
  (client: Client, { clock, limits }: Timing) =>
  <T>(request: () => Promise<T>): Promise<T> =>
    client.withDeadline(clock.now() + limits.engineMs, request);

/** The need for Temporal, through this client. */
export function engineNeed(client: Client, { namespace }: Pick<Config['temporal'], 'namespace'>, time: Timing): Need {
  const describe = boundedBy(client, time);
  const missing = 'Temporal does not answer, so approved calls do not run; start it, or correct TEMPORAL_ADDRESS';
  return {
    alarm: 'engine_unusable',
    isVital: false,
    problem: () =>
      describe(() => client.workflowService.describeNamespace({ namespace })).then(
        () => undefined,
        () => missing,
      ),
  };
}

const NOT_FOUND = 5;

/**
 * The problem and its next step when the engine answers but does not have the configured namespace. Undefined when the namespace exists,
 * and when the engine does not answer.
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
