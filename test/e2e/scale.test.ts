import { expect, it } from '@jest/globals';
import { runScale } from '../scale/run-scale.ts';

it('after everything was killed and started again, each call that waits goes on waiting, and each approved one is executed once', async () => {
  const { faults, violations } = await runScale({ calls: 60, approved: 20, onProgress: () => undefined });
  expect(faults).toEqual([]);
  expect(violations).toEqual([]);
});
