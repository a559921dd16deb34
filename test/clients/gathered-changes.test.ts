import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { GatheredChanges, type Changed } from '../../activities/clients/upstream-notices.ts';

const TOGETHER_MS = 50;

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

/** Changes whose carrying out ends when the test says so. */
function gathering() {
  const carriedOut: Changed[] = [];
  const ends: (() => void)[] = [];
  const changes = new GatheredChanges((what) => {
    carriedOut.push(what);
    return new Promise<void>((resolve) => void ends.push(resolve));
  });
  const end = async () => {
    for (const resolve of ends.splice(0)) resolve();
    await jest.advanceTimersByTimeAsync(0);
  };
  return { changes, carriedOut, end };
}

it('changes that are announced together are carried out together, each once', async () => {
  const { changes, carriedOut } = gathering();
  for (const what of ['tools', 'prompts', 'tools', 'tools'] as const) changes.add(what);
  expect(carriedOut).toEqual([]);
  await jest.advanceTimersByTimeAsync(TOGETHER_MS);
  expect(carriedOut).toEqual(['tools', 'prompts']);
});

it('an upstream that never is quiet is read again when the reading before is over, and once', async () => {
  const { changes, carriedOut, end } = gathering();
  changes.add('tools');
  await jest.advanceTimersByTimeAsync(TOGETHER_MS);
  for (let announced = 0; announced < 100; announced += 1) {
    changes.add('tools');
    await jest.advanceTimersByTimeAsync(TOGETHER_MS);
  }
  expect(carriedOut).toEqual(['tools']);
  await end();
  await jest.advanceTimersByTimeAsync(TOGETHER_MS);
  expect(carriedOut).toEqual(['tools', 'tools']);
});

it('an upstream whose list took long is left alone for ten times as long, and then its changes wait no longer than others', async () => {
  const { changes, carriedOut, end } = gathering();
  changes.rest(300);
  changes.add('tools');
  await jest.advanceTimersByTimeAsync(2_999);
  expect(carriedOut).toEqual([]);
  await jest.advanceTimersByTimeAsync(1);
  expect(carriedOut).toEqual(['tools']);
  changes.rest(300);
  await end();
  await jest.advanceTimersByTimeAsync(3_000);
  changes.add('tools');
  await jest.advanceTimersByTimeAsync(TOGETHER_MS);
  expect(carriedOut).toEqual(['tools', 'tools']);
});

it('nothing is carried out any more when it is closed', async () => {
  const { changes, carriedOut, end } = gathering();
  changes.add('tools');
  await jest.advanceTimersByTimeAsync(TOGETHER_MS);
  changes.add('prompts');
  changes.close();
  await end();
  await jest.advanceTimersByTimeAsync(60_000);
  expect(carriedOut).toEqual(['tools']);
});
