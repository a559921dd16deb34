import { beforeAll, expect, it } from '@jest/globals';
import { request } from 'undici';
import { serve } from '../support/serve.ts';

/** A fourth of it, of which no more than two are left, is long for an answer on a slow machine. */
const LIMIT_MS = 1_600;
/** Nothing of this process runs for so long, as when the machine stands still. */
const standStill = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

// The first request of all takes longest.
beforeAll(async () => {
  const server = await serve((_request, response) => response.end());
  await (await request(server.url)).body.dump();
  await server.close();
});

it.each([
  ['a timer', (passed: () => void) => void setTimeout(passed, LIMIT_MS)],
  ['a signal', (passed: () => void) => AbortSignal.timeout(LIMIT_MS).addEventListener('abort', passed)],
])(
  'a limit (%s) that passed while everything stood still is held against nobody, and comes all the same',
  async (_kind, wait) => {
    const events: string[] = [];
    const passed = new Promise<void>((resolve) => wait(() => (events.push('limit'), resolve())));
    const answer = serve((_request, response) => response.end());
    standStill(1.25 * LIMIT_MS);
    const server = await answer;
    await (await request(server.url)).body.dump();
    events.push('answer');
    await passed;
    expect(events).toEqual(['answer', 'limit']);
    await server.close();
  },
);

it('a server leaves the connections of its clients open for longer than the machine stands still', async () => {
  const server = await serve((_request, response) => response.end());
  const ask = async () => {
    const { body, headers } = await request(server.url);
    await body.dump();
    return headers['keep-alive'];
  };
  // What it says about the first answer was settled before anybody could change it.
  await ask();
  expect(await ask()).toBe('timeout=120');
  await server.close();
});
