import { expect, it } from '@jest/globals';
import { runScale } from '../scale/run-scale.ts';

it('after a kill and restart of everything, waiting calls wait on, approved ones run once, without a burst of work', async () => {
  const [calls, approved] = [60, 8];
  const { problems, herd } = await runScale({ calls, approved, onProgress: () => undefined });
  expect(problems).toEqual([]);
  // Counts each approved call, and the one that was made at the end.
  expect(herd.evaluations.altogether).toBeGreaterThan(approved);
});
