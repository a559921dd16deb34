import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { createReadingPace, keepPace } from '../../activities/clients/upstream/reading.ts';
import { createList } from '../../activities/clients/upstream/list.ts';
import type { UpstreamPool } from '../../activities/clients/upstream/pool.ts';
import { openUpstreams, untilFound } from '../support/upstreams.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { waitFor } from '../support/wait-for.ts';
import { systemTime } from '../support/time.ts';

const fixture = (name: string) => new URL(`./fixtures/${name}`, import.meta.url).pathname;
const healthy = { command: process.execPath, args: [fixture('crashing-server.mjs')] };
const hostile = (limits: object, ...args: string[]) => ({
  command: process.execPath,
  args: [fixture('hostile-server.mjs'), ...args],
  limits,
});
const never = () => new AbortController().signal;

let pool: UpstreamPool;
let logged: string[];
beforeEach(() => {
  logged = [];
});
afterEach(() => pool.close());
const open = (bad: object) => {
  const log = pino({ level: 'warn' }, { write: (line: string) => void logged.push(line) });
  return (pool = openUpstreams({ bad, good: healthy }, log));
};
const call = (upstream: string, upstreamTool: string, args = {}, signal = never()) =>
  pool.call({ upstream, upstreamTool, arguments: args }, { signal });
const text = (said: string) => ({ kind: 'result', result: { content: [{ type: 'text', text: said }] } });
/** The neighbour must work during every attack of the hostile upstream. */
const expectHealthyNeighbour = async () => {
  expect(await pool.find('good__pid', { live: true })).toBeDefined();
  expect(await call('good', 'pid')).toMatchObject({ kind: 'result', isError: false });
};

describe('a program', () => {
  it.each<[what: string, tool: string, args: object, why: RegExp]>([
    ['is too large', 'large', { bytes: 200_000 }, /larger than 100000 bytes \(limits\.maxMessageBytes\)/],
    ["is too large, with the call's id at its end", 'later', { bytes: 200_000 }, /larger than 100000 bytes/],
    ['is too deep', 'deep', { levels: 10_000 }, /more than 200 levels deep/],
    ['has too many members', 'wide', { members: 2_000 }, /more than 1000 members and elements \(limits\.max/],
  ])('with an answer line that %s fails only this call, with the reason', async (_what, tool, args, why) => {
    open(hostile({ maxMessageBytes: 100_000, maxMessageMembers: 1_000 }));
    await untilFound(pool, 'bad__release');
    const beside = call('bad', 'release', { wait: true });
    expect(await call('bad', 'large', { bytes: 90_000 })).toMatchObject({ kind: 'result' });
    const failed = await call('bad', tool, args);
    expect(failed).toMatchObject({ kind: 'error', isOurs: true, message: expect.stringMatching(why) });
    expect(failed).toMatchObject({ message: expect.stringContaining('The tool may have run') });
    expect(logged.join()).toMatch(why);
    expect(await call('bad', 'release')).toMatchObject(text('released'));
    expect(await beside).toMatchObject(text('released'));
    await expectHealthyNeighbour();
  });

  it('with an endless line fails the call that the line belongs to', async () => {
    open(hostile({ maxMessageBytes: 100_000 }));
    expect(await call('bad', 'endless')).toMatchObject({
      kind: 'error',
      message: expect.stringMatching(/larger than/),
    });
    await expectHealthyNeighbour();
  });

  it('with invalid lines between its messages is still understood', async () => {
    open(hostile({}));
    expect(await call('bad', 'nonsense')).toMatchObject(text('after nonsense'));
    await expectHealthyNeighbour();
  });

  it('that does not read its input gets no more of it', async () => {
    open(hostile({ maxMessageBytes: 65_536 }));
    expect(await call('bad', 'deaf')).toMatchObject(text('not listening'));
    const unread = () => call('bad', 'ok', { text: 'x'.repeat(60_000) }, AbortSignal.timeout(50));
    await waitFor(async () => {
      const answer = await unread();
      return answer.kind === 'not_sent' && answer.cause === 'not connected';
    });
    await expectHealthyNeighbour();
  });

  it('that never stops writing is slowed down, and its neighbour is not', async () => {
    open(hostile({ maxMessagesPerSecond: 50 }));
    const leave = new AbortController();
    const flooded = call('bad', 'flood', {}, leave.signal);
    await waitFor(() => logged.join().includes('more messages than limits.maxMessagesPerSecond'));
    for (let calls = 0; calls < 20; calls += 1) await expectHealthyNeighbour();
    leave.abort();
    expect(await flooded).toMatchObject({ kind: 'no_answer' });
  });

  it.each([
    ['more tools than allowed', 'many', { maxListItems: 10 }, /limits\.maxListItems \(10\)/],
    ['endless tools', 'endless', { maxListItems: 100 }, /limits\.maxListItems \(100\)/],
    [
      'more bytes than allowed',
      'endless',
      { maxMessageBytes: 65_536, maxListItems: 1_000_000 },
      /limits\.maxMessageBytes/,
    ],
    // Listing so many takes longer on a slow machine than the limit allows.
    ['endless pages without tools', 'empty', {}, /1000 pages|timed out/i],
  ])('with a list of %s cannot be used', async (_, listing, limits, limit) => {
    open(hostile(limits, listing));
    await untilFound(pool, 'good__pid');
    const names = (await pool.tools()).map(({ upstream }) => upstream);
    expect(new Set(names)).toEqual(new Set(['good']));
    await waitFor(() => limit.test(logged.join()));
    expect(await call('bad', 'ok')).toMatchObject({ kind: 'not_sent' });
    await expectHealthyNeighbour();
  });
});

it('a list with empty pages ends after a thousand of them', async () => {
  const list = createList(
    { method: 'tools/list', member: 'tools', key: 'name', capability: 'tools' },
    systemTime.clock,
  );
  let pages = 0;
  const ask = async () => ((pages += 1), { tools: [], nextCursor: `page ${pages}` });
  await expect(list.read(ask, { maxMessageBytes: 1_000_000, maxListItems: 10, maxListAgeSeconds: 30 })).rejects.toThrow(
    '1000 pages',
  );
  expect([pages, list.items()]).toEqual([1_000, undefined]);
});

it('a stream is read one second ahead, and then at its allowed rate', async () => {
  let reports = 0;
  const stream = Readable.from(
    (function* () {
      for (;;) yield Buffer.from('a line\n');
    })(),
  );
  const clock = new ManualClock();
  let read = 0;
  stream.on('data', () => (read += 1));
  const letGo = keepPace(stream, { pace: createReadingPace(20, () => (reports += 1), clock), clock });
  await waitFor(() => clock.waiting > 0);
  const atOnce = read;
  await clock.advance(10_000);
  // About one second's worth at once, and then that many per second.
  expect(atOnce).toBeLessThanOrEqual(25);
  expect(read - atOnce).toBeGreaterThanOrEqual(195);
  expect(read - atOnce).toBeLessThanOrEqual(205);
  expect(reports).toBe(1);
  letGo();
  stream.destroy();
});
