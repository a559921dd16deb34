import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createAccessRequestStore } from '../../apps/approvals/stores/access-request.store.ts';
import { aStage, anApprover, endFromOpening, newAccessRequest, newVote } from '../support/access-requests.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { rowsRead } from '../support/rows-read.ts';

const MINUTE = 60;
const HOUR = 3_600;

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

const store = () => createAccessRequestStore(db.pool);
const open = async (changes: Parameters<typeof newAccessRequest>[0]) => {
  const request = newAccessRequest(changes);
  await store().create(request);
  await endFromOpening(db.pool, request.id);
  return request;
};
/** Lets time pass for the open stage. */
const pass = (id: string, seconds: number) =>
  db.pool.query(
    `UPDATE approvals.access_request SET stage_opened_at = stage_opened_at - make_interval(secs => $2),
       stage_ends_at = stage_ends_at - make_interval(secs => $2), remind_at = remind_at - make_interval(secs => $2),
       retry_at = retry_at - make_interval(secs => $2)
     WHERE id = $1`,
    [id, seconds],
  );
const carryOut = async () => (await store().carryOutDue(100)).length;
/** The row as stored, without carrying out a deadline. */
const row = async (id: string) =>
  (await db.pool.query('SELECT status, stage FROM approvals.access_request WHERE id = $1', [id])).rows[0];
const notices = async (id: string) =>
  (
    await db.pool.query('SELECT event, stage, number FROM approvals.notice WHERE access_request_id = $1 ORDER BY id', [
      id,
    ])
  ).rows;
/** When people are next reminded, in seconds from the opening of the stage; null when no reminder is left. */
const remindsAfter = async (id: string) =>
  (
    await db.pool.query<{ seconds: number | null }>(
      `SELECT extract(epoch FROM remind_at - stage_opened_at)::int AS seconds FROM approvals.access_request WHERE id = $1`,
      [id],
    )
  ).rows[0]?.seconds;
const questions = async (id: string) =>
  (
    await db.pool.query<{ subject_id: string }>(
      'SELECT subject_id FROM approvals.question_outbox WHERE starts_with(subject_id, $1) ORDER BY id',
      [id],
    )
  ).rows.map(({ subject_id: subject }) => subject.slice(id.length));

describe('due steps of an access request', () => {
  it('remind of the open stage, once each time, and deny at its end [ARAP-STS-05]', async () => {
    const { id } = await open({ stages: [aStage({ remindAfterSeconds: [60, HOUR], withinSeconds: 2 * HOUR })] });
    expect(await carryOut()).toBe(0);
    await pass(id, 60);
    expect([await carryOut(), await carryOut()]).toEqual([1, 0]);
    await pass(id, HOUR);
    expect([await carryOut(), await carryOut()]).toEqual([1, 0]);
    expect([await row(id), await remindsAfter(id)]).toEqual([{ status: 'pending', stage: 1 }, null]);
    await pass(id, HOUR);
    expect([await carryOut(), await carryOut()]).toEqual([1, 0]);
    expect(await row(id)).toEqual({ status: 'denied', stage: 1 });
    expect(await notices(id)).toEqual([
      { event: 'reminder', stage: 1, number: 1 },
      { event: 'reminder', stage: 1, number: 2 },
    ]);
  });

  it('open the next stage where one that escalates runs out of time, and remind of that', async () => {
    const { id } = await open({
      isNotified: true,
      stages: [
        aStage({ name: 'owner', remindAfterSeconds: [60], withinSeconds: 60, then: 'escalate' }),
        aStage({ name: 'director', remindAfterSeconds: [60], withinSeconds: HOUR, onlyOnEscalation: true }),
      ],
    });
    await pass(id, 60);
    await carryOut();
    expect([await row(id), await remindsAfter(id)]).toEqual([{ status: 'pending', stage: 2 }, 60]);
    await pass(id, 60);
    await carryOut();
    await pass(id, HOUR);
    await carryOut();
    expect(await row(id)).toEqual({ status: 'denied', stage: 2 });
    expect(await notices(id)).toEqual([
      { event: 'opened', stage: 1, number: 1 },
      { event: 'escalated', stage: 2, number: 1 },
      { event: 'reminder', stage: 2, number: 1 },
      { event: 'ended', stage: 2, number: 1 },
    ]);
  });

  it('end the request at its own deadline, also where a reminder is due', async () => {
    const { id } = await open({ requestTtlMs: 1, stages: [aStage({ remindAfterSeconds: [60] })] });
    await pass(id, 60);
    expect(await carryOut()).toBe(1);
    expect([await row(id), await notices(id)]).toEqual([{ status: 'expired', stage: 1 }, []]);
  });

  it('count the time of a stage from its opening', async () => {
    const timed = { remindAfterSeconds: [600], withinSeconds: HOUR };
    const request = await open({ stages: [aStage({ name: 'first', ...timed }), aStage({ name: 'second', ...timed })] });
    await pass(request.id, 300);
    await store().castVote(newVote(request));
    await pass(request.id, 300);
    expect([await carryOut(), await remindsAfter(request.id)]).toEqual([0, 600]);
    await pass(request.id, HOUR);
    await carryOut();
    expect(await row(request.id)).toEqual({ status: 'denied', stage: 2 });
  });

  it('remind once, in any order of reminders and for any number of processes', async () => {
    const { id } = await open({ stages: [aStage({ remindAfterSeconds: [HOUR, 60] })] });
    await pass(id, 60);
    const carried = await Promise.all(Array.from({ length: 8 }, carryOut));
    expect(carried.reduce((sum, count) => sum + count, 0)).toBe(1);
    expect(await notices(id)).toEqual([{ event: 'reminder', stage: 1, number: 1 }]);
    expect(await remindsAfter(id)).toBe(HOUR);
  });

  it('send only the last reminder where several were missed', async () => {
    const { id } = await open({ stages: [aStage({ remindAfterSeconds: [10, 20, 30, HOUR] })] });
    await pass(id, 60);
    await carryOut();
    expect(await notices(id)).toEqual([{ event: 'reminder', stage: 1, number: 3 }]);
    expect((await store().find(id))?.remindedAt).toBeDefined();
  });

  it('remind of no request that is over', async () => {
    const { id } = await open({ stages: [aStage({ remindAfterSeconds: [60] })] });
    await store().cancel(id, { note: { by: { client: 'mcp-gateway' } } });
    const ended = `ALTER TABLE approvals.access_request DISABLE TRIGGER USER; UPDATE approvals.access_request
      SET remind_at = clock_timestamp() WHERE id = '${id}'; ALTER TABLE approvals.access_request ENABLE TRIGGER USER`;
    await db.pool.query(ended);
    expect([await carryOut(), await notices(id)]).toEqual([0, []]);
  });

  it('leave a request to the process that holds it, and wait for no other process', async () => {
    const { id } = await open({ stages: [aStage({ remindAfterSeconds: [60] })] });
    await pass(id, 60);
    const other = await db.pool.connect();
    try {
      await other.query('BEGIN');
      await other.query('SELECT FROM approvals.access_request WHERE id = $1 FOR UPDATE', [id]);
      expect([await carryOut(), await notices(id)]).toEqual([0, []]);
    } finally {
      await other.query('ROLLBACK');
      other.release();
    }
    expect([await carryOut(), (await notices(id)).length]).toEqual([1, 1]);
  });

  it('are not held up by a request that fails, and name it with its failure', async () => {
    const failing = await open({ isNotified: true, stages: [aStage({ withinSeconds: 60 })] });
    const late = await open({ stages: [aStage({ withinSeconds: 60 })] });
    const reminded = await open({ stages: [aStage({ remindAfterSeconds: [60] })] });
    for (const { id } of [failing, late, reminded]) await pass(id, 60);
    await db.pool.query("ALTER TABLE approvals.notice ADD CONSTRAINT no_ends CHECK (event <> 'ended') NOT VALID");
    try {
      const due = await store().carryOutDue(100);
      expect(due).toContainEqual({ id: late.id, failure: null });
      expect(due).toContainEqual({ id: failing.id, failure: expect.stringContaining('no_ends') });
      expect([await row(failing.id), await row(late.id)]).toMatchObject([{ status: 'pending' }, { status: 'denied' }]);
      expect(await notices(reminded.id)).toEqual([{ event: 'reminder', stage: 1, number: 1 }]);
    } finally {
      await db.pool.query('ALTER TABLE approvals.notice DROP CONSTRAINT no_ends');
    }
    await pass(failing.id, MINUTE);
    await carryOut();
    expect(await row(failing.id)).toMatchObject({ status: 'denied' });
  });

  it('that fail come after the others, and are tried again after as long as they are overdue, at most a minute', async () => {
    const dueIn = async (isNotified: boolean, seconds: number) => {
      const { id } = await open({ isNotified, stages: [aStage({ withinSeconds: HOUR })] });
      await pass(id, HOUR - seconds);
      return id;
    };
    const failing = [await dueIn(true, -2 * HOUR), await dueIn(true, -20)];
    const other = await dueIn(false, 0);
    await db.pool.query("ALTER TABLE approvals.notice ADD CONSTRAINT no_ends CHECK (event <> 'ended') NOT VALID");
    try {
      for (const id of failing) expect(await store().carryOutDue(1)).toMatchObject([{ id }]);
      expect(await store().carryOutDue(1)).toEqual([{ id: other, failure: null }]);
    } finally {
      await db.pool.query('ALTER TABLE approvals.notice DROP CONSTRAINT no_ends');
    }
    const { rows } = await db.pool.query(
      `SELECT id, retry_at <= clock_timestamp() + interval '1 minute' AS soon, retry_at - stage_ends_at >= interval '40 s' AS later
       FROM approvals.access_request WHERE id = ANY ($1) ORDER BY stage_ends_at`,
      [failing],
    );
    expect(rows).toEqual(failing.map((id) => ({ id, soon: true, later: true })));
    await Promise.all(failing.map((id) => pass(id, MINUTE)));
    await carryOut();
    for (const id of failing) expect(await row(id)).toMatchObject({ status: 'denied' });
  });

  it('read only the rows that are due, however many wait', async () => {
    await db.pool.query('TRUNCATE approvals.access_request CASCADE');
    await open({ stages: [aStage({ remindAfterSeconds: [HOUR] })] });
    await db.pool.query(WAITING_REQUESTS);
    const { id } = await open({ stages: [aStage({ remindAfterSeconds: [60] })] });
    await pass(id, 60);
    const connection = await db.pool.connect();
    try {
      await connection.query('BEGIN');
      const before = await rowsRead(connection, 'approvals');
      expect((await connection.query('SELECT approvals.carry_out_due(100)')).rows).toHaveLength(1);
      expect((await rowsRead(connection, 'approvals')) - before).toBeLessThan(50);
    } finally {
      await connection.query('COMMIT');
      connection.release();
    }
    expect(await notices(id)).toHaveLength(1);
  });
});

/** Two thousand copies of the one existing request. */
const WAITING_REQUESTS = `
  INSERT INTO approvals.access_request SELECT copy.* FROM approvals.access_request original, generate_series(1, 2000) AS n,
    jsonb_populate_record(original, jsonb_build_object('id', 'arq_' || n, 'idempotency_key', n, 'evaluation_id', n,
      'token_jti', n)) AS copy`;

describe('the question to the resolver of a stage', () => {
  it('is written with the opening of the stage, and not for a stage without a resolver', async () => {
    const request = await open({
      stages: [
        aStage({ name: 'people', withinSeconds: 60, then: 'escalate' }),
        aStage({ name: 'risk', automatic: 'risk', quorum: 2 }),
        aStage({ name: 'more people' }),
      ],
    });
    expect(await questions(request.id)).toEqual([]);
    await store().castVote(newVote(request));
    expect(await questions(request.id)).toEqual(['/2']);
    for (const name of ['bob', 'carol']) {
      await store().castVote(newVote(request, { approver: anApprover(name), judgedStage: 2 }));
    }
    expect([await row(request.id), await questions(request.id)]).toEqual([{ status: 'pending', stage: 3 }, ['/2']]);
  });

  it('is written where a stage escalates to one with a resolver, and where the first stage has one', async () => {
    const [first, second] = [aStage({ name: 'a', automatic: 'risk' }), aStage({ name: 'b', automatic: 'other' })];
    const { id } = await open({ stages: [{ ...first, withinSeconds: 60, then: 'escalate' }, second] });
    expect(await questions(id)).toEqual(['/1']);
    await pass(id, 60);
    await Promise.all(Array.from({ length: 4 }, carryOut));
    expect(await questions(id)).toEqual(['/1', '/2']);
  });

  it('does not exist where the stage was not opened after all', async () => {
    const request = newAccessRequest({ stages: [aStage({ automatic: 'risk' })] });
    await store().create(request);
    await store().create({ ...request, id: 'arq_of_the_same_denial', idempotencyKey: 'another' });
    expect(await questions('arq_of_the_same_denial')).toEqual([]);
    expect(await questions(request.id)).toEqual(['/1']);
  });
});
