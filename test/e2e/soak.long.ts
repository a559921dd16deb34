import { expect, it } from '@jest/globals';
import { runSoak } from '../soak/run-soak.ts';

it('during half a minute of successive failures, each call ends as allowed and its tool runs as often as that says', async () => {
  const figures = await runSoak({
    ...{ seconds: 30, callsPerSecond: 2, faultEverySeconds: 6 },
    onProgress: () => undefined,
  });
  expect(figures.wrong).toEqual([]);
  expect(figures.violations).toEqual([]);
  expect(figures.calls).toBe(60);
  expect(Object.keys(figures.faults).length).toBeGreaterThan(0);
});
