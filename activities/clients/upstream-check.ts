import type { Logger } from 'pino';
import type { Timing } from '../../apps/shared/limits.ts';
import { UpstreamConnection } from './upstream-connection.ts';
import type { UpstreamServer } from './upstream-transport.ts';

/** Whether an upstream can be used: how many tools it lists, or why not. */
export type UpstreamState = { readonly upstream: string } & (
  { readonly tools: number } | { readonly problem: unknown }
);

/** Connects every upstream once, has its tools listed, and lets it go. Never rejects. */
export function examineUpstreams(
  servers: Readonly<Record<string, UpstreamServer>>,
  log: Logger,
  time: Timing,
): Promise<readonly UpstreamState[]> {
  return Promise.all(
    Object.entries(servers).map(async ([upstream, server]): Promise<UpstreamState> => {
      const connection = new UpstreamConnection(server, { log, onChanged: () => undefined, ...time });
      try {
        await connection.connect();
        return { upstream, tools: connection.tools?.length ?? 0 };
      } catch (problem) {
        return { upstream, problem };
      } finally {
        await connection.close();
      }
    }),
  );
}
