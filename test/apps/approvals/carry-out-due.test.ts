import { expect, it } from '@jest/globals';
import { pino } from 'pino';
import { startCarryingOutDue } from '../../../apps/approvals/jobs/carry-out-due.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const BATCH = Array.from({ length: 100 }, (_one, index) => `arq_${index}`);
const done = BATCH.map((id) => ({ id, failure: null }));
const failed = BATCH.map((id) => ({ id, failure: 'the row is locked' }));

/**
 * Runs the job for three seconds against a database that returns these answers and then has nothing due. Returns the number of
 * looks.
 */
async function looks(answers: (typeof done | typeof failed | Error)[]) {
  const clock = new ManualClock();
  let log = '';
  let count = 0;
  const carryOutDue = async () => {
    const answer = answers[count] ?? [];
    count += 1;
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const job = startCarryingOutDue({
    store: { carryOutDue },
    clock,
    log: pino({}, { write: (line: string) => (log += line) }),
  });
  await clock.advance(3_000);
  await job.stop();
  return { count, log };
}

it('carries out one full batch after another, and then looks every second', async () => {
  expect((await looks([done, done])).count).toBe(5);
});

it('leaves requests that failed to the next round, and names them in the log', async () => {
  const { count, log } = await looks([failed, failed, failed]);
  expect(count).toBe(3);
  expect(log).toMatch(/"accessRequest":"arq_99","why":"the row is locked"/);
});

it('looks again after a database outage', async () => {
  const { count, log } = await looks([new Error('the database is away')]);
  expect(count).toBe(3);
  expect(log).toMatch(/a round of the deadlines and reminders .* failed; the next one tries again/);
});
