import { expect, it } from '@jest/globals';
import { anAskableClient } from '../support/askable-client.ts';
import { askedUpstreams } from '../support/asked-upstreams.ts';
import { waitFor } from '../support/wait-for.ts';

const MOST_PER_SESSION = 10;
const MOST_OVERALL = 200;
const NAMES = Array.from({ length: MOST_PER_SESSION }, (_none, index) => `up${index}`);

const { server, call, textOf } = askedUpstreams(NAMES);

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
