import { expect, it } from '@jest/globals';
import { gatherChanges } from '../../activities/clients/upstream/notices.ts';
import { ManualClock } from '../support/manual-clock.ts';

const TOGETHER_MS = 50;

/** Changes whose read ends when the test says so. */
function gathering() {
  const clock = new ManualClock();
  let carriedOut = 0;
  const ends: (() => void)[] = [];
  const changes = gatherChanges(() => {
    carriedOut += 1;
    return new Promise<void>((resolve) => void ends.push(resolve));
  }, clock);
  const end = async () => {
    for (const resolve of ends.splice(0)) resolve();
    await clock.advance(0);
  };
  return { clock, changes, carriedOut: () => carriedOut, end };
}

it('changes that are announced together are read together', async () => {
  const { clock, changes, carriedOut } = gathering();
  for (let announced = 0; announced < 3; announced += 1) changes.announce();
  expect(carriedOut()).toBe(0);
  await clock.advance(TOGETHER_MS);
  expect(carriedOut()).toBe(1);
});

it('a constantly changing upstream is read again only after the last read has ended', async () => {
  const { clock, changes, carriedOut, end } = gathering();
  changes.announce();
  await clock.advance(TOGETHER_MS);
  for (let announced = 0; announced < 100; announced += 1) {
    changes.announce();
    await clock.advance(TOGETHER_MS);
  }
  expect(carriedOut()).toBe(1);
  await end();
  await clock.advance(TOGETHER_MS);
  expect(carriedOut()).toBe(2);
});

it('an upstream with a slow list rests for four times as long, and its changes then wait as long as others', async () => {
  const { clock, changes, carriedOut, end } = gathering();
  changes.rest(300);
  changes.announce();
  await clock.advance(1_199);
  expect(carriedOut()).toBe(0);
  await clock.advance(1);
  expect(carriedOut()).toBe(1);
  changes.rest(300);
  await end();
  await clock.advance(1_200);
  changes.announce();
  await clock.advance(TOGETHER_MS);
  expect(carriedOut()).toBe(2);
});

it('no change is read after a close', async () => {
  const { clock, changes, carriedOut, end } = gathering();
  changes.announce();
  await clock.advance(TOGETHER_MS);
  changes.announce();
  changes.close();
  await end();
  await clock.advance(60_000);
  expect(carriedOut()).toBe(1);
});
