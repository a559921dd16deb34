import { afterEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { startPollResolutions } from '../../../apps/worker/jobs/poll-resolutions.ts';
import { waitFor } from '../../support/wait-for.ts';
import { systemTime } from '../../support/time.ts';

let poller: ReturnType<typeof startPollResolutions> | undefined;
afterEach(() => poller?.stop());

/** A poller that finds these calls due once, and its record. */
function over(due: string[], poll: (id: string) => Promise<void> = async () => undefined) {
  const seen = { polled: [] as string[], limits: [] as number[], atOnce: 0, most: 0 };
  const lines: { msg: string; gatedCallId?: string }[] = [];
  poller = startPollResolutions({
    ...systemTime,
    polls: {
      async take(limit) {
        seen.limits.push(limit);
        return due.splice(0, limit);
      },
      async poll(id) {
        seen.polled.push(id);
        seen.atOnce += 1;
        seen.most = Math.max(seen.most, seen.atOnce);
        await poll(id).finally(() => (seen.atOnce -= 1));
      },
    },
    intervalMs: 5,
    log: pino({}, { write: (line: string) => void lines.push(JSON.parse(line) as (typeof lines)[number]) }),
  });
  return { seen, lines };
}
const ids = (count: number) => Array.from({ length: count }, (_, index) => `call-${index}`);

describe('the poller of resolutions', () => {
  it('polls every due call once, a few at a time and fifty in a round', async () => {
    const { seen } = over(ids(120), () => new Promise((done) => setImmediate(done)));
    await waitFor(() => seen.polled.length === 120);
    expect(seen.polled).toEqual(ids(120));
    expect(new Set(seen.limits)).toEqual(new Set([50]));
    expect(seen.most).toBe(4);
  });

  it('continues after a failed poll, and names the call', async () => {
    const { seen, lines } = over(ids(6), async (id) => {
      if (id === 'call-1') throw new Error('cannot be polled');
    });
    await waitFor(() => seen.polled.length === 6);
    expect(lines).toEqual([
      expect.objectContaining({ gatedCall: 'call-1', msg: expect.stringContaining('could not be polled') }),
    ]);
  });

  it('continues after a round in which the database did not answer', async () => {
    const due = ids(1);
    let failures = 0;
    const seen: string[] = [];
    poller = startPollResolutions({
      ...systemTime,
      polls: {
        async take(limit) {
          if (failures < 2) {
            failures += 1;
            throw new Error('away');
          }
          return due.splice(0, limit);
        },
        poll: async (id) => void seen.push(id),
      },
      intervalMs: 5,
      log: pino({ enabled: false }),
    });
    await waitFor(() => seen.length === 1);
    expect(failures).toBe(2);
  });

  it('finishes running polls when it stops, and leaves the rest to the next round', async () => {
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const { seen } = over(ids(20), () => held);
    await waitFor(() => seen.polled.length === 4);
    const stopped = poller?.stop();
    poller = undefined;
    release();
    await stopped;
    expect(seen.polled).toHaveLength(4);
    expect(seen.atOnce).toBe(0);
  });
});
