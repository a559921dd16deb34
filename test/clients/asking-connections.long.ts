import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { UpstreamPool } from '../../activities/clients/upstream/pool.ts';
import type { AskableClient } from '../../workflows/domain/upstream-ports.ts';
import { anAskableClient } from '../support/askable-client.ts';
import { AskingServer } from '../support/asking-server.ts';
import { waitFor } from '../support/wait-for.ts';
import { openUpstreams } from '../support/upstreams.ts';

const MOST_PER_SESSION = 10;
const MOST_OVERALL = 200;
const NAMES = Array.from({ length: MOST_PER_SESSION }, (_none, index) => `up${index}`);

let server: AskingServer;
let pool: UpstreamPool;
beforeAll(async () => {
  server = await new AskingServer().start();
  pool = openUpstreams(Object.fromEntries(NAMES.map((name) => [name, { url: server.url }])));
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

it('all sessions have two hundred connections together; then one that is not used gives way', async () => {
  const sessions = Array.from({ length: MOST_OVERALL / MOST_PER_SESSION }, (_none, index) =>
    anAskableClient(`many-${index}`),
  );
  const held = sessions.flatMap(({ askable }) => NAMES.map((name) => call(name, 'hold', askable)));
  await waitFor(() => server.holds === MOST_OVERALL);
  const late = anAskableClient('late');
  expect(await textOf(call('up0', 'ask', late.askable))).toContain('-32601');
  expect(late.asked).toEqual([]);
  server.release();
  await Promise.all(held);
  expect(await textOf(call('up0', 'ask', late.askable))).toContain('decline');
  for (const { close } of sessions) close();
});
