import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { GatheredChanges } from '../../activities/clients/upstream-notices.ts';
import { systemTime } from '../support/time.ts';

const TOGETHER_MS = 50;

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

/** Changes whose carrying out ends when the test says so. */
function gathering() {
  let carriedOut = 0;
  const ends: (() => void)[] = [];
  const changes = new GatheredChanges(() => {
    carriedOut += 1;
    return new Promise<void>((resolve) => void ends.push(resolve));
  }, systemTime.clock);
  const end = async () => {
    for (const resolve of ends.splice(0)) resolve();
    await jest.advanceTimersByTimeAsync(0);
  };
  return { changes, carriedOut: () => carriedOut, end };
}

it('changes that are announced together are carried out together', async () => {
  const { changes, carriedOut } = gathering();
  for (let announced = 0; announced < 3; announced += 1) changes.announce();
  expect(carriedOut()).toBe(0);
  await jest.advanceTimersByTimeAsync(TOGETHER_MS);
  expect(carriedOut()).toBe(1);
});

it('an upstream that never is quiet is read again when the reading before is over, and once', async () => {
  const { changes, carriedOut, end } = gathering();
  changes.announce();
  await jest.advanceTimersByTimeAsync(TOGETHER_MS);
  for (let announced = 0; announced < 100; announced += 1) {
    changes.announce();
    await jest.advanceTimersByTimeAsync(TOGETHER_MS);
  }
  expect(carriedOut()).toBe(1);
  await end();
  await jest.advanceTimersByTimeAsync(TOGETHER_MS);
  expect(carriedOut()).toBe(2);
});

it('an upstream whose list took long is left alone for four times as long, and then its changes wait no longer than others', async () => {
  const { changes, carriedOut, end } = gathering();
  changes.rest(300);
  changes.announce();
  await jest.advanceTimersByTimeAsync(1_199);
  expect(carriedOut()).toBe(0);
  await jest.advanceTimersByTimeAsync(1);
  expect(carriedOut()).toBe(1);
  changes.rest(300);
  await end();
  await jest.advanceTimersByTimeAsync(1_200);
  changes.announce();
  await jest.advanceTimersByTimeAsync(TOGETHER_MS);
  expect(carriedOut()).toBe(2);
});

it('nothing is carried out any more when it is closed', async () => {
  const { changes, carriedOut, end } = gathering();
  changes.announce();
  await jest.advanceTimersByTimeAsync(TOGETHER_MS);
  changes.announce();
  changes.close();
  await end();
  await jest.advanceTimersByTimeAsync(60_000);
  expect(carriedOut()).toBe(1);
});
