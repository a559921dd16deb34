import { expect, it } from '@jest/globals';
import { runScale } from '../scale/run-scale.ts';

it('after everything was killed and started again, each call that waits goes on waiting, each approved one is executed once, and nothing is a stampede', async () => {
  const [calls, approved] = [60, 8];
  const { problems, herd } = await runScale({ calls, approved, onProgress: () => undefined });
  expect(problems).toEqual([]);
  // Each approved call, and the one that was made at the end: all of them were counted.
  expect(herd.evaluations.altogether).toBeGreaterThan(approved);
});
