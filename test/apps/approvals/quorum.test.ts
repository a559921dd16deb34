import { expect, it } from '@jest/globals';
import { runQuorum } from '../../quorum/run-quorum.ts';

const REQUESTS = 25;

it('three approvals at once, by every way and twice, settle a request of two once [ARAP-STS-04] [ARAP-APV-05]', async () => {
  const { contradictions, statuses, answers } = await runQuorum(REQUESTS);
  expect(contradictions).toEqual([]);
  expect(statuses).toEqual({ approved: REQUESTS });
  // Some votes came too late, so there was a race.
  expect(answers['409']).toBeGreaterThan(0);
});
