import { afterAll, beforeAll } from '@jest/globals';
import type { UpstreamPool } from '../../activities/clients/upstream/pool.ts';
import type { AskableClient } from '../../workflows/domain/upstream-ports.ts';
import { AskingServer } from './asking-server.ts';
import { openUpstreams } from './upstreams.ts';

/** Upstreams of these names, which are one server that asks its clients. For the tests of one file. */
export function askedUpstreams(names: readonly string[]) {
  const server = new AskingServer();
  let pool: UpstreamPool;
  beforeAll(async () => {
    await server.start();
    pool = openUpstreams(Object.fromEntries(names.map((name) => [name, { url: server.url }])));
  });
  afterAll(async () => {
    await pool.close();
    await server.close();
  });
  const call = (upstream: string, upstreamTool: string, askable: AskableClient) =>
    pool.relay(
      { upstream, upstreamTool, arguments: { method: 'elicitation/create' }, conversation: { capabilities: {} } },
      { signal: new AbortController().signal, askable },
    );
  const textOf = async (answer: ReturnType<typeof call>) => JSON.stringify(await answer);
  return { server, call, textOf };
}
