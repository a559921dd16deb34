import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Pool } from 'pg';
import { createFence } from '../../activities/stores/fence.ts';
import { checkDatabase } from '../../apps/cli/commands/doctor/services.ts';
import { ownerKey } from '../../workflows/domain/principal.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { CALLER, gatedCallFixture } from '../support/gated-calls.ts';
import { IN_DEVELOPMENT } from '../support/time.ts';

/** Logs in as a user with one role and no other rights, as a deployable in production does. */
async function login(db: TestDatabase, role: string): Promise<Pool> {
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  await db.pool.query(`CREATE ROLE ${name} LOGIN PASSWORD '${name}' IN ROLE ${role}`);
  const url = new URL(db.url);
  [url.username, url.password] = [name, name];
  return new Pool({ connectionString: url.href, max: 4 });
}
/** Removes the login again: it belongs to the whole server. */
async function logout(db: TestDatabase, pool: Pool): Promise<void> {
  const { user } = (await pool.query<{ user: string }>('SELECT current_user AS user')).rows[0] ?? { user: '' };
  await pool.end();
  await db.pool.query(`DROP ROLE ${user}`);
}
const DENIED = { code: '42501' };

/** The result of `doctor` for restores, with this login. */
async function restoreFinding({ options }: Pool) {
  const findings = await checkDatabase(options.connectionString ?? '', IN_DEVELOPMENT);
  return findings.find(({ name }) => name === 'restore');
}

describe('the enforcement role', () => {
  let db: TestDatabase;
  let pool: Pool;
  beforeAll(async () => {
    db = await createTestDatabase();
    pool = await login(db, 'countersign_enforcement');
  });
  afterAll(async () => {
    await logout(db, pool);
    await db.drop();
  });

  it('can take a call through its whole life by the functions', async () => {
    const fixture = gatedCallFixture(pool);
    const call = await fixture.claimed();
    const invocationId = randomUUID();
    expect(await fixture.lifecycle.beginInvocation({ ...call, invocationId, upstreamKey: randomUUID() })).toBe(true);
    const of = { gatedCallId: call.gatedCallId, invocationId, cause: 'result' } as const;
    expect(await fixture.lifecycle.settleResult(of, { isError: false, text: '{}' })).toBe('executed');
  });

  it('can do for a client of a task what the gateway does', async () => {
    const { calls, pending } = gatedCallFixture(pool);
    const { gatedCallId, taskId } = await pending();
    const owner = ownerKey(CALLER);
    const { requestRef = '' } = (await calls.readTask(taskId, owner)) ?? {};
    expect(await calls.atPage(requestRef)).toMatchObject({ state: 'pending' });
    await calls.answerPage(gatedCallId);
    expect(await calls.readTask(taskId, owner)).toMatchObject({ isPageAnswered: true });
    expect(await calls.cancel(gatedCallId)).toBe('cancelled');
    expect(await calls.recent(owner, 1)).toMatchObject([{ state: 'cancelled' }]);
  });

  it('can notice a restore and stop all executions, and `doctor` says so', async () => {
    const fence = createFence(pool);
    const { installation } = await fence.read();
    expect(installation).not.toBe('');
    expect(await fence.holdAgainst(undefined)).toMatchObject({ state: 'whole' });
    expect(await restoreFinding(pool)).toMatchObject({ status: 'ok' });
    await fence.suspend();
    expect(await restoreFinding(pool)).toMatchObject({
      status: 'fail',
      advice: expect.stringContaining('countersign reconcile --after-restore'),
    });
    await db.pool.query('SELECT gateway.thaw()');
  });

  it.each([
    `UPDATE gateway.gated_call SET state = 'granted'`,
    `UPDATE gateway.gated_call SET claim_id = NULL, request_deadline = now() + interval '1 year'`,
    'DELETE FROM gateway.gated_call',
    'DELETE FROM gateway.outcome_record',
    'TRUNCATE gateway.call_event CASCADE',
    'DELETE FROM gateway.invocation',
    `INSERT INTO gateway.execution_claim (gated_call_id, claim_id, generation, decision_id) SELECT id, id, 1, id FROM gateway.gated_call`,
    `INSERT INTO gateway.transition (from_state, to_state, is_end) VALUES ('denied', 'granted', false)`,
    'UPDATE gateway.epoch SET frozen = false',
    'SELECT gateway.thaw()',
    'SELECT gateway.stamp(1)',
    'UPDATE gateway.fence SET place = place',
    `UPDATE gateway.approval SET approved_until = now() + interval '1 year'`,
    'UPDATE gateway.data_key SET call_key = NULL',
    'ALTER TABLE gateway.gated_call DISABLE TRIGGER ALL',
    `SELECT gateway.transition(id, 'granted', 'x', NULL, 0) FROM gateway.gated_call`,
    `SELECT gateway.write_outcome_record(id) FROM gateway.gated_call`,
    'SELECT * FROM approvals.access_request',
    'SELECT * FROM pdp.evaluation',
    'SELECT * FROM audit.session',
    'SET ROLE countersign_approvals',
    'SET ROLE countersign_pdp',
  ])('may not: %s', async (statement) => {
    await expect(pool.query(statement)).rejects.toMatchObject(DENIED);
  });
});

describe('the auditors’ role', () => {
  let db: TestDatabase;
  let pool: Pool;
  beforeAll(async () => {
    db = await createTestDatabase();
    pool = await login(db, 'countersign_auditor');
  });
  afterAll(async () => {
    await logout(db, pool);
    await db.drop();
  });

  it('reads no column with sealed data of a call, and no key of calls', async () => {
    const { rows } = await db.pool.query<{ name: string; column: string }>(
      `SELECT table_schema || '.' || table_name AS name, quote_ident(column_name) AS column
       FROM information_schema.columns WHERE table_schema IN ('gateway', 'approvals', 'pdp') ORDER BY 1, 2`,
    );
    const readable: string[] = [];
    for (const { name, column } of rows) {
      const isReadable = await pool.query(`SELECT ${column} FROM ${name} LIMIT 1`).then(
        () => true,
        (error: unknown) => {
          expect(error).toMatchObject(DENIED);
          return false;
        },
      );
      if (isReadable) readable.push(`${name}.${column}`);
    }
    expect(rows.filter(({ column }) => column.startsWith('sealed_')).length).toBeGreaterThan(10);
    expect(readable.filter((one) => /[.]sealed_|call_key|_request|pdp[.]/.test(one))).toEqual([]);
    expect(readable).toEqual(expect.arrayContaining(['gateway.outcome_record.body', 'gateway.data_key.record_key']));
  });
});

describe.each([
  ['countersign_approvals', 'gateway.gated_call', 'approvals.access_request'],
  ['countersign_approvals', 'pdp.evaluation', 'approvals.access_request'],
  ['countersign_auditor', 'approvals.access_request', 'gateway.outcome_record'],
])('the role %s', (role, foreign, own) => {
  let db: TestDatabase;
  let pool: Pool;
  beforeAll(async () => {
    db = await createTestDatabase();
    pool = await login(db, role);
  });
  afterAll(async () => {
    await logout(db, pool);
    await db.drop();
  });

  it('sees nothing of the other side [ARAP-CMP-17]', async () => {
    await expect(pool.query(`SELECT FROM ${foreign}`)).rejects.toMatchObject(DENIED);
  });

  it('sees its own, and does not write it directly', async () => {
    await pool.query(`SELECT FROM ${own}`);
    await expect(pool.query(`DELETE FROM ${own}`)).rejects.toMatchObject(DENIED);
    await expect(pool.query(`UPDATE ${own} SET tool = 'another'`)).rejects.toMatchObject(DENIED);
  });

  it('cannot look for a restore, as `doctor` reports', async () => {
    expect(await restoreFinding(pool)).toMatchObject({ status: 'warn', message: expect.stringContaining('no right') });
  });

  it('calls no function that moves a gated call', async () => {
    const cancel = `SELECT gateway.end_unclaimed('${randomUUID()}', 'cancelled', 'x', 'x', 0)`;
    await expect(pool.query(cancel)).rejects.toMatchObject(DENIED);
  });
});
