import { setImmediate } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { whenAllIsRead } from '../../../apps/pdp/turn.ts';

async function happensTo(names: readonly string[]): Promise<string[]> {
  const happened: string[] = [];
  // What Node does for each thing that arrived: one after the other, and all that was promised meanwhile before the next.
  const requests = names.map(async (name) => {
    await setImmediate();
    happened.push(`${name} is read`);
    await whenAllIsRead();
    happened.push(`${name} is decided`);
    await Promise.resolve();
    happened.push(`${name} is answered`);
  });
  await Promise.all(requests);
  return happened;
}

test('what arrived together is read together, then decided together, then answered together', async () => {
  const steps = ['read', 'decided', 'answered'];
  const inTurns = steps.flatMap((step) => ['one', 'two', 'three'].map((name) => `${name} is ${step}`));
  expect(await happensTo(['one', 'two', 'three'])).toEqual(inTurns);
});

test('a turn is over for those who come later, who have one of their own', async () => {
  const first = whenAllIsRead();
  expect(whenAllIsRead()).toBe(first);
  await first;
  const second = whenAllIsRead();
  expect(second).not.toBe(first);
  await second;
});
