import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { isDeepStrictEqual } from 'node:util';
import { createPool } from '../../apps/shared/database/pool.ts';
import { startAuditApp, type AuditUnderTest } from '../apps/audit/audit-app.ts';
import { TEST_SEALS } from '../support/gated-calls.ts';
import { OwnPostgres } from '../support/own-postgres.ts';
import { withOperator } from '../support/postgres-faults.ts';
import { waitFor } from '../support/wait-for.ts';
import { ORDINARY_LIMITS, ordinaryTime } from '../support/time.ts';

const postgres = new OwnPostgres();
let url: string;
let audit: AuditUnderTest;
let doors: readonly string[];

beforeAll(async () => {
  url = await postgres.start();
  const pool = createPool(url, { ...ordinaryTime, applicationName: 'calls' });
  audit = await startAuditApp({ url, pool, drop: () => pool.end() }, ORDINARY_LIMITS);
  const { taskId, opening, decisionId } = await audit.calls.end('executed');
  const list = await audit.json('/outcome-records');
  const ways = [
    list.body.items[0].outcomeRef,
    `by-task/${taskId}`,
    `by-decision/${decisionId}`,
    `by-call/${TEST_SEALS.digest(opening.binding.callDigest)}`,
  ];
  doors = ['/outcome-records', ...ways.map((way) => `/outcome-records/${way}`)];
});
afterAll(async () => {
  await audit.stop();
  await postgres.stop();
});

/** The answer of every address: status, type and when to ask again. */
const everyDoor = (accept: string) =>
  Promise.all(
    doors.map(async (path) => {
      const { status, headers } = await audit.get(path, { accept });
      return [status, headers.get('content-type')?.split(';')[0], headers.get('retry-after')];
    }),
  );
const eachIs = (answer: readonly unknown[]) => doors.map(() => answer);

/** The final answer of every address to programs: a program that is told to try again does so. */
async function expectEveryDoor(answer: readonly unknown[]): Promise<void> {
  let found: unknown;
  const isSo = async () => isDeepStrictEqual((found = await everyDoor('application/json')), eachIs(answer));
  await waitFor(isSo).catch(() => undefined);
  expect(found).toEqual(eachIs(answer));
}
const SHOWN = [200, 'application/json', null];

describe('the audit application without its database', () => {
  it('tells every caller when to ask again, and shows the records when the server is back', async () => {
    await expectEveryDoor(SHOWN);
    await postgres.crash();
    expect(await everyDoor('application/json')).toEqual(eachIs([503, 'application/problem+json', '5']));
    expect(await everyDoor('text/html')).toEqual(eachIs([503, 'text/html', '5']));
    expect((await audit.json('/outcome-records')).body).toEqual({
      ...{ type: 'about:blank', status: 503, title: 'The records cannot be read now' },
      detail: 'Try again in a few seconds.',
    });
    await postgres.startAsItIs();
    await expectEveryDoor(SHOWN);
  });

  it('gives the same answer to callers that wait too long for a lock, and does not call its own faults temporary', async () => {
    await withOperator(url, async (operator) => {
      await operator.query('BEGIN; LOCK TABLE gateway.outcome_record IN ACCESS EXCLUSIVE MODE');
      expect(await everyDoor('application/json')).toEqual(eachIs([503, 'application/problem+json', '5']));
      await operator.query('ROLLBACK; ALTER TABLE gateway.outcome_record RENAME TO misplaced');
      await expectEveryDoor([500, 'application/problem+json', null]);
      await operator.query('ALTER TABLE gateway.misplaced RENAME TO outcome_record');
    });
    await expectEveryDoor(SHOWN);
  });
});
