import { expect, it } from '@jest/globals';
import { anAskableClient } from '../support/askable-client.ts';
import { askedUpstreams } from '../support/asked-upstreams.ts';
import { waitFor } from '../support/wait-for.ts';

const MOST_PER_SESSION = 10;
const NAMES = Array.from({ length: MOST_PER_SESSION + 1 }, (_none, index) => `up${index}`);

const { server, call, textOf } = askedUpstreams(NAMES);

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
