import { expect, it } from '@jest/globals';
import { pino } from 'pino';
import { startLookingAtApprovers } from '../../../apps/approvals/jobs/look-at-approvers.ts';
import { EMPTY_DIRECTORY } from '../../../apps/shared/directory/directory.ts';
import type { AccessRequest } from '../../../workflows/domain/access-request/access-request.ts';
import { aStage } from '../../support/access-requests.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const ROUND_MS = 5_000;
const FORTY_MINUTES = 480 * ROUND_MS;

/** The job against a database with so many requests that `alice` may decide. The service knows no one while `world.people` says so. */
function startJob(waiting: number, { hasBreakGlass = false, opened = [] as string[] } = {}) {
  const ids = Array.from({ length: waiting }, (_one, index) => `arq_${String(index).padStart(5, '0')}`);
  const clock = new ManualClock();
  const world = {
    directory: { ...EMPTY_DIRECTORY },
    isKnown: true,
    batches: [] as number[],
    finds: 0,
    givenUp: 0,
    log: '',
  };
  const request = (id: string) => ({
    ...{ id, status: 'pending', stage: 1, votes: [], parties: ['rita'], delegates: [], separateStages: true },
    ...{ requester: { subject: 'rita' }, stages: [aStage({ approvers: { people: ['alice'] } })] },
  });
  const job = startLookingAtApprovers({
    store: {
      find: async (id) => ((world.finds += 1), request(id) as unknown as AccessRequest),
      newStages: async () => opened.map((id) => ({ id, stage: 1 })),
      async openStages({ id: after }, limit) {
        const batch = ids.filter((id) => id > after).slice(0, limit);
        world.batches.push(batch.length);
        return batch.map((id) => ({ id, stage: 1 }));
      },
      giveUpStage: async () => ((world.givenUp += 1), 'denied'),
    },
    known: () => ({ ...world.directory, isKnown: () => world.isKnown, withRole: () => new Set() }),
    people: () => world.directory,
    log: pino({}, { write: (line: string) => (world.log += line) }),
    ...{ clock, hasBreakGlass },
  });
  return { clock, job, world };
}

it('reads 10,000 waiting requests once, a batch in each round, and then none until the directory changes', async () => {
  const { clock, job, world } = startJob(10_000);
  await clock.advance(ROUND_MS);
  expect(world.finds).toBe(100);
  await clock.advance(FORTY_MINUTES);
  expect([world.finds, world.batches]).toEqual([10_000, [...Array.from({ length: 100 }, () => 100), 0]]);
  world.directory = { ...EMPTY_DIRECTORY };
  world.isKnown = false;
  await clock.advance(FORTY_MINUTES);
  expect([world.finds, world.givenUp]).toEqual([20_000, 0]);
  // One alarm for each batch, and a denial for none.
  expect(world.log.match(/"alarm":"approvers_missing"/g)).toHaveLength(100);
  await job.stop();
});

it.each([
  [false, 1, 'The request was denied.'],
  [true, 0, 'It waits until its end.'],
])('looks at a new stage once; with break-glass %j it denies %i', async (hasBreakGlass, denials, words) => {
  const { clock, job, world } = startJob(0, { hasBreakGlass, opened: ['arq_new'] });
  world.isKnown = false;
  await clock.advance(6 * ROUND_MS);
  expect([world.finds, world.givenUp]).toEqual([1, denials]);
  expect(world.log).toContain(words);
  await job.stop();
});
