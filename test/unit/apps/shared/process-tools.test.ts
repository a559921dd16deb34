import { expect, it } from '@jest/globals';
import { freePort, until } from '../../../../apps/shared/embedded/process-tools.ts';

const WITHIN_MS = 400;
/** No code of this process runs for this long, as when the machine stands still. */
const standStill = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

it('waits on for an answer after the machine stood still', async () => {
  let asked = 0;
  const ask = () => {
    asked += 1;
    if (asked === 1) standStill(2 * WITHIN_MS);
    return asked > 3 ? 'here' : undefined;
  };
  expect(await until(ask, { withinMs: WITHIN_MS, everyMs: 5 })).toBe('here');
});

it('gives up without an answer', async () => {
  expect(await until(() => undefined, { withinMs: 50, everyMs: 5 })).toBeUndefined();
});

it('never gives out a port twice', async () => {
  const ports: number[] = [];
  for (let n = 0; n < 500; n += 1) ports.push(await freePort());
  expect(new Set(ports).size).toBe(ports.length);
});
