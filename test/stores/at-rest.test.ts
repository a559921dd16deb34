import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { anApproval, anOpening, CALLER, gatedCallFixture } from '../support/gated-calls.ts';

const CANARY = 'canary-in-the-coal-mine';

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

/** The tables of the enforcement side in which a row shows the text, in the database's own words for rows. */
async function tablesWith(text: string): Promise<string[]> {
  const { rows } = await db.pool.query<{ name: string }>(
    "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'gateway' AND table_type = 'BASE TABLE'",
  );
  const found: string[] = [];
  for (const { name } of rows) {
    const shown = await db.pool.query(`SELECT FROM gateway.${name} AS t WHERE t::text LIKE '%' || $1 || '%'`, [text]);
    if (shown.rowCount !== 0) found.push(name);
  }
  return found;
}

it('shows nothing of arguments, caller, submission, handle, approval or result to a reader of the tables', async () => {
  const fixture = gatedCallFixture(db.pool);
  const opening = anOpening({
    caller: { ...CALLER, subject: `${CANARY}-subject` },
    args: { secret: `${CANARY}-argument` },
  });
  const call = await fixture.opened({
    ...opening,
    submission: { ...opening.submission, body: `{"body":"${CANARY}-body"}` },
  });
  const handle = { accessRequestId: `${CANARY}-request`, statusEndpoint: `http://127.0.0.1:1/${CANARY}` };
  await fixture.lifecycle.attachHandle(call.gatedCallId, 1, handle);
  await fixture.lifecycle.grant(
    call.gatedCallId,
    1,
    anApproval({ id: `${CANARY}-approval`, state: `${CANARY}-state` }),
  );
  const claimId = randomUUID();
  await fixture.claim(call.gatedCallId, claimId);
  const permit = { gatedCallId: call.gatedCallId, claimId, invocationId: randomUUID(), upstreamKey: randomUUID() };
  await fixture.lifecycle.beginInvocation(permit);
  const result = { isError: false, text: `{"content":["${CANARY}-result"]}` };
  expect(await fixture.lifecycle.settleResult({ ...permit, cause: 'result' }, result)).toBe('executed');
  expect(await tablesWith(CANARY)).toEqual([]);
  // The search finds text that is there.
  expect(await tablesWith(call.taskId)).toEqual(expect.arrayContaining(['gated_call', 'outcome_record']));
});
