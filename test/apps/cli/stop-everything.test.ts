import { describe, expect, it } from '@jest/globals';
import { stopEverything } from '../../../apps/cli/commands/up-stop.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { ORDINARY_LIMITS } from '../../support/time.ts';

describe('the stop of everything', () => {
  const { serverCloseMs, stopMs } = ORDINARY_LIMITS;
  const never = () => new Promise<never>(() => undefined);

  it('gives a server the time in which it cuts its open connections, and stops its database only then', async () => {
    const clock = new ManualClock();
    const order: string[] = [];
    const serving = {
      name: 'gateway',
      async stop() {
        await clock.after(serverCloseMs);
        order.push('gateway');
      },
    };
    const infrastructure = { name: 'PostgreSQL', stop: async () => void order.push('PostgreSQL') };
    const parts = { serving: [serving], infrastructure: [infrastructure] };
    const stopped = stopEverything(parts, { clock, limits: ORDINARY_LIMITS });
    await clock.advance(serverCloseMs);
    expect(await stopped).toEqual([]);
    expect(order).toEqual(['gateway', 'PostgreSQL']);
  });

  it('names the parts that fail or take longer than the limit, and stops the others', async () => {
    const clock = new ManualClock();
    const failing = { name: 'audit', stop: () => Promise.reject(new Error('no')) };
    const parts = {
      serving: [{ name: 'worker', stop: never }, failing, { name: 'pdp', stop: async () => undefined }],
      infrastructure: [{ name: 'Temporal', stop: never }],
    };
    const stopped = stopEverything(parts, { clock, limits: ORDINARY_LIMITS });
    await clock.advance(stopMs);
    await clock.advance(stopMs);
    expect(await stopped).toEqual(['worker', 'audit', 'Temporal']);
  });
});
