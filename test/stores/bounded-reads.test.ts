import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import { createDuePolls } from '../../activities/stores/due-calls.ts';
import { ownerKey } from '../../workflows/domain/principal.ts';
import { createPool } from '../../apps/shared/database/pool.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { anApproval, anOpening, CALLER, gatedCallFixture } from '../support/gated-calls.ts';
import { systemTime } from '../support/time.ts';
import { rowsRead } from '../support/rows-read.ts';

/** Open calls of other callers while each step is taken once more. */
const MANY = 400;

let db: TestDatabase;
/** One connection, which plans its statements while there are hardly any rows, and without statistics. */
let pool: Pool;
beforeAll(async () => {
  db = await createTestDatabase();
  await db.pool.query('ALTER TABLE gateway.gated_call SET (autovacuum_enabled = off)');
  await db.pool.query('ALTER TABLE gateway.submission SET (autovacuum_enabled = off)');
  pool = createPool(db.url, { ...systemTime, max: 1, applicationName: 'bounded reads' });
});
afterAll(async () => {
  await pool.end();
  await db.drop();
});

it('reads no more rows for one call when many others are open', async () => {
  const others = gatedCallFixture(db.pool);
  const few = await rowsReadByEachStep();
  for (let count = 0; count < MANY; count += 1) {
    await others.pending(anOpening({ caller: { ...CALLER, subject: randomUUID() } }));
  }
  const many = await rowsReadByEachStep();
  // Another plan may read a handful more when statistics arrive. Reads that grow with the other calls grow by hundreds.
  for (const [step, rows] of Object.entries(many)) expect([step, rows - (few[step] ?? 0) < 10]).toEqual([step, true]);
  expect(Math.max(...Object.values(many))).toBeLessThan(MANY / 10);
});

async function rowsReadByEachStep(): Promise<Record<string, number>> {
  const { calls, lifecycle, claim } = gatedCallFixture(pool);
  const caller = { ...CALLER, subject: randomUUID() };
  const opening = anOpening({ caller });
  const read: Record<string, number> = {};
  const step = async <Result>(name: string, take: () => Promise<Result>): Promise<Result> => {
    await pool.query('BEGIN');
    const before = await rowsRead(pool, 'gateway');
    const result = await take();
    read[name] = (await rowsRead(pool, 'gateway')) - before;
    await pool.query('COMMIT');
    return result;
  };
  const opened = await step('open', () => calls.open(opening));
  if (opened.kind !== 'opened') throw new Error(opened.kind);
  const { gatedCallId, taskId } = opened;
  await step('join', () => calls.open(opening));
  await step('give the submission back', () => lifecycle.releaseSubmission(gatedCallId));
  await step('take the submission', () => lifecycle.takeSubmission(gatedCallId, 1_000));
  const accessRequestId = `arq_${gatedCallId}`;
  const handle = { accessRequestId, statusEndpoint: 'http://127.0.0.1:1/status' };
  await step('attach the handle', () => lifecycle.attachHandle(gatedCallId, 1, handle));
  await step('take looks', () => createDuePolls(pool, { minMs: 1_000, maxMs: 1_000 }).take(1_000));
  await step('find the task', () => calls.findTask(taskId, ownerKey(caller)));
  const webhookId = randomUUID();
  await step('accept a callback', () => calls.acceptCallback({ webhookId, bodyDigest: 'x', accessRequestId }));
  await step('grant', () => lifecycle.grant(gatedCallId, 1, anApproval()));
  await step('claim', () => claim(gatedCallId, randomUUID()));
  // If the machine stood still, an expired decision was made anew, which read more rows.
  const decisions = "SELECT FROM gateway.decision WHERE gated_call_id = $1 AND kind = 'allow'";
  return (await pool.query(decisions, [gatedCallId])).rowCount === 1 ? read : rowsReadByEachStep();
}
