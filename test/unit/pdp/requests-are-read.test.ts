import { setImmediate } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { requestsAreRead } from '../../../apps/pdp/http/requests.ts';

async function stepsOf(names: readonly string[]): Promise<string[]> {
  const steps: string[] = [];
  // Node handles each request that has arrived, with its promises, before the next.
  const requests = names.map(async (name) => {
    await setImmediate();
    steps.push(`${name} is read`);
    await requestsAreRead();
    steps.push(`${name} is decided`);
    await Promise.resolve();
    steps.push(`${name} is answered`);
  });
  await Promise.all(requests);
  return steps;
}

test('requests that arrive together are read together, then decided together, then answered together', async () => {
  const steps = ['read', 'decided', 'answered'];
  const inBatches = steps.flatMap((step) => ['one', 'two', 'three'].map((name) => `${name} is ${step}`));
  expect(await stepsOf(['one', 'two', 'three'])).toEqual(inBatches);
});

test('a request that arrives later belongs to the next batch', async () => {
  const first = requestsAreRead();
  expect(requestsAreRead()).toBe(first);
  await first;
  const second = requestsAreRead();
  expect(second).not.toBe(first);
  await second;
});
