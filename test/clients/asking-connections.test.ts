import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { UpstreamPool } from '../../activities/clients/upstream/pool.ts';
import type { AskableClient } from '../../workflows/domain/upstream-ports.ts';
import { anAskableClient } from '../support/askable-client.ts';
import { AskingServer } from '../support/asking-server.ts';
import { waitFor } from '../support/wait-for.ts';
import { openUpstreams } from '../support/upstreams.ts';

const MOST_PER_SESSION = 10;
const NAMES = Array.from({ length: MOST_PER_SESSION + 1 }, (_none, index) => `up${index}`);

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

it('a session has ten connections of its own; then one that is not used gives way', async () => {
  const { askable, asked } = anAskableClient('one');
  for (const name of NAMES) expect(await textOf(call(name, 'ask', askable))).toContain('decline');
  expect(asked).toHaveLength(NAMES.length);
  const declared = server.began.filter(({ capabilities }) => JSON.stringify(capabilities).includes('elicitation'));
  expect(declared).toHaveLength(NAMES.length);
});

it('a call for which there is no room goes over the connection that all share, where nothing is asked', async () => {
  const { askable, asked } = anAskableClient('two');
  const held = NAMES.slice(0, MOST_PER_SESSION).map((name) => call(name, 'hold', askable));
  await waitFor(() => server.holds === held.length);
  expect(await textOf(call(NAMES.at(-1) ?? '', 'ask', askable))).toContain('-32601');
  expect(asked).toEqual([]);
  server.release();
  for (const one of held) expect(await textOf(one)).toContain('released');
});

it('no connection opens for a session that has ended, and an error of its client reaches the upstream', async () => {
  const gone = anAskableClient('three');
  gone.close();
  expect(await textOf(call('up0', 'ask', gone.askable))).toContain('-32601');
  const { askable } = anAskableClient('four', { kind: 'error', code: -1, message: 'The person refused.' });
  expect(await textOf(call('up0', 'ask', askable))).toMatch(/-1.*The person refused/);
  const silent = anAskableClient('five', { kind: 'none', why: 'The client did not answer.' });
  expect(await textOf(call('up0', 'ask', silent.askable))).toMatch(/-32603.*did not answer/);
});
