import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  type AccessRequestStore,
  createAccessRequestStore,
  type ExtensionOutcome,
} from '../../apps/approvals/stores/access-request.store.ts';
import type { NewAccessRequest, NewExtension } from '../../apps/approvals/stores/new-rows.ts';
import { anApprover, aStage, endFromOpening, newAccessRequest, newVote } from '../support/access-requests.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { waitFor } from '../support/wait-for.ts';

let db: TestDatabase;
let store: AccessRequestStore;
beforeAll(async () => {
  db = await createTestDatabase({ max: 30 });
  store = createAccessRequestStore(db.pool);
});
afterAll(() => db.drop());

const timed = aStage({ withinSeconds: 600, maxExtensionSeconds: 300, remindAfterSeconds: [60, 700] });
const open = async (changes: Partial<NewAccessRequest> = {}) => {
  const request = newAccessRequest({ stages: [timed], requestTtlMs: 3_600_000, isNotified: true, ...changes });
  await store.create(request);
  await endFromOpening(db.pool, request.id);
  return request;
};
const extend = (id: string, changes: Partial<NewExtension> = {}): Promise<ExtensionOutcome> =>
  store.extendStage({
    ...{ requestId: id, stage: 1, judgedStage: 1, number: 1, seconds: 300, reason: undefined, via: 'inbox' },
    by: { ...anApprover('alice'), chain: [] },
    ...changes,
  });
const by = (subject: string, chain: readonly string[] = []) => ({ ...anApprover(subject), chain });
/** Seconds by which the end of the stage moved, and the extensions on record. */
const moved = async (id: string) => {
  const { rows } = await db.pool.query<{ seconds: number; made: number; reminds: number }>(
    `SELECT extract(epoch FROM stage_ends_at - stage_opened_at)::int - 600 AS seconds,
       extract(epoch FROM remind_at - stage_opened_at)::int AS reminds,
       (SELECT count(*)::int FROM approvals.extension WHERE access_request_id = id) AS made FROM approvals.access_request WHERE id = $1`,
    [id],
  );
  return rows[0];
};
const asOwner = (sql: string) =>
  db.pool.query(`SET session_replication_role = replica; ${sql}; SET session_replication_role = origin`);
const UNMOVED = { seconds: 0, made: 0 };

describe('more time for a stage', () => {
  it('moves its end and nothing else, and is on record with who gave it', async () => {
    const { id } = await open();
    const before = await store.find(id);
    expect(await extend(id, { seconds: 120, reason: 'no one is here yet' })).toBe('extended');
    expect(await moved(id)).toEqual({ seconds: 120, made: 1, reminds: 60 });
    const after = await store.find(id);
    expect(after).toEqual({
      ...before,
      stageEndsAt: after?.stageEndsAt,
      extensions: [
        {
          ...{
            stage: 1,
            number: 1,
            by: { issuer: 'https://idp.test', subject: 'alice' },
            reason: 'no one is here yet',
          },
          ...{ from: before?.stageEndsAt, to: after?.stageEndsAt, at: expect.stringMatching(/Z$/) },
        },
      ],
    });
    const [statement] = await store.statementsOf([id]);
    expect(statement?.extensions).toMatchObject([
      { by: { subject: 'alice' }, stage: 1, to: after?.stageEndsAt, via: 'inbox' },
    ]);
  });

  it('lets the stage end at the new end, and remind until then', async () => {
    const { id } = await open();
    await extend(id);
    const pass = (seconds: number) =>
      asOwner(`UPDATE approvals.access_request SET stage_opened_at = stage_opened_at - interval '${seconds} s',
        stage_ends_at = stage_ends_at - interval '${seconds} s', remind_at = remind_at - interval '${seconds} s' WHERE id = '${id}'`);
    await pass(750);
    await store.carryOutDue(100);
    expect(await store.find(id)).toMatchObject({ status: 'pending', remindedAt: expect.any(String) });
    await pass(150);
    await store.carryOutDue(100);
    expect(await store.find(id)).toMatchObject({ status: 'denied' });
  });

  it('can be given again, as long as all of it together is within the maximum', async () => {
    const { id } = await open();
    expect(await extend(id, { seconds: 180 })).toBe('extended');
    expect(await extend(id, { seconds: 180, number: 2, by: by('bob') })).toBe('not_extendable');
    expect(await extend(id, { seconds: 120, number: 2, by: by('bob') })).toBe('extended');
    expect(await extend(id, { seconds: 1, number: 3 })).toBe('not_extendable');
    expect(await moved(id)).toMatchObject({ seconds: 300, made: 2 });
  });

  it('is counted for each stage by itself', async () => {
    const request = await open({ stages: [timed, { ...timed, name: 'second' }] });
    await extend(request.id);
    await store.castVote(newVote(request));
    expect(await extend(request.id, { stage: 2, judgedStage: 2, by: by('bob') })).toBe('extended');
    expect((await store.find(request.id))?.extensions).toMatchObject([{ stage: 1 }, { stage: 2, number: 1 }]);
  });

  it('given twice by the same form changes the end once', async () => {
    const { id } = await open();
    const pressed = await Promise.all(Array.from({ length: 20 }, () => extend(id, { seconds: 60 })));
    expect(pressed.sort()).toEqual(['extended', ...Array<string>(19).fill('repeated')]);
    expect(await moved(id)).toMatchObject({ seconds: 60, made: 1 });
  });

  it('given by two people who saw the same end is given once, and the other is told', async () => {
    const { id } = await open();
    const people = Array.from({ length: 10 }, (_, n) => by(`person-${n}`));
    const pressed = await Promise.all(people.map((person) => extend(id, { by: person, seconds: 60 })));
    expect(pressed.sort()).toEqual(['extended', ...Array<string>(9).fill('extended_before')].sort());
    expect(await extend(id, { seconds: 60, number: 3 })).toBe('extended_before');
    expect(await moved(id)).toMatchObject({ seconds: 60, made: 1 });
  });

  it.each<[string, Partial<NewExtension>, Partial<NewAccessRequest>, ExtensionOutcome]>([
    ['longer than the stage allows', { seconds: 301 }, {}, 'not_extendable'],
    ['of no time', { seconds: 0 }, {}, 'not_extendable'],
    ['of less than no time', { seconds: -60 }, {}, 'not_extendable'],
    ['where the template allows none', {}, { stages: [aStage({ withinSeconds: 600 })] }, 'not_extendable'],
    ['of a stage without an end', {}, { stages: [aStage({ maxExtensionSeconds: 300 })] }, 'not_extendable'],
    ['beyond the end of the request', { seconds: 300 }, { requestTtlMs: 899_000 }, 'beyond_request'],
    ['by the requester', { by: by('agent') }, {}, 'own_request'],
    ['by a name behind the person', { by: by('bob', ['agent']) }, {}, 'own_request'],
    ['in a stage that is not open', { stage: 2, judgedStage: 1 }, {}, 'stage_over'],
    ['for a stage that was not judged', { judgedStage: 2 }, {}, 'stage_over'],
  ])('%s is refused, and the end stays', async (_what, order, changes, outcome) => {
    const { id } = await open(changes);
    expect(await extend(id, order)).toBe(outcome);
    expect((await store.find(id))?.extensions).toBeUndefined();
  });

  it('is refused to the requester who may confirm, and to a delegate of the requester', async () => {
    const confirmer = { issuer: 'https://idp.test', subjects: ['dana'], freshSeconds: 300 };
    const stage = { ...timed, approvers: { ...timed.approvers, requester: confirmer } };
    const { id } = await open({ stages: [stage], parties: ['dana', 'agent'] });
    expect(await extend(id, { by: by('dana') })).toBe('own_request');
    await asOwner(`INSERT INTO approvals.delegation (id, delegator_issuer, delegator_subject, delegator_roles, delegate_subject, created_at, until,
        delegator_names, delegate_names)
      VALUES ('dlg_1', 'https://idp.test', 'dana', '{approver}', 'bob', now(), now() + interval '1 day', '{dana}', '{bob}')`);
    expect(await extend(id, { by: by('bob') })).toBe('delegate_of_requester');
    expect(await moved(id)).toMatchObject(UNMOVED);
  });

  it('is refused once the request has ended in any way', async () => {
    const [voted, cancelled, expired] = [await open(), await open(), await open({ requestTtlMs: 1 })];
    await store.castVote(newVote(voted));
    await store.cancel(cancelled.id, { note: { by: { client: 'mcp-gateway' } } });
    for (const { id } of [voted, cancelled, expired]) expect(await extend(id)).toBe('final');
    expect(await extend('arq_none')).toBe('not_found');
  });
});

/** An extension that waits for the lock of its request. */
const WAITS = `SELECT FROM pg_stat_activity
  WHERE wait_event_type = 'Lock' AND query LIKE '%extend_stage%' AND datname = current_database()`;

describe('more time at the same moment as', () => {
  it('the end of the stage comes too late, judged by the clock after the wait for the lock', async () => {
    const { id } = await open();
    const holder = await db.pool.connect();
    try {
      await holder.query('BEGIN');
      await holder.query('SELECT FROM approvals.access_request WHERE id = $1 FOR UPDATE', [id]);
      const waiting = extend(id);
      await waitFor(async () => (await db.pool.query(WAITS)).rowCount === 1);
      await holder.query('UPDATE approvals.access_request SET stage_ends_at = clock_timestamp() WHERE id = $1', [id]);
      await holder.query('COMMIT');
      expect(await waiting).toBe('final');
    } finally {
      holder.release();
    }
    expect(await store.find(id)).toMatchObject({ status: 'denied' });
  });

  it('a vote or a withdrawal is given before it or not at all', async () => {
    const requests = await Promise.all(Array.from({ length: 20 }, () => open()));
    const outcomes = await Promise.all(
      requests.map(async (request, n) => {
        const other =
          n % 2 === 0
            ? store.castVote(newVote(request, { approver: anApprover('bob') }))
            : store.cancel(request.id, { note: { by: { client: 'mcp-gateway' } } });
        const [outcome, ended] = await Promise.all([extend(request.id), other]);
        return { outcome, ended, id: request.id };
      }),
    );
    for (const { outcome, ended, id } of outcomes) {
      expect(['counted', 'cancelled']).toContain(ended);
      expect(['extended', 'final']).toContain(outcome);
      expect((await moved(id))?.made).toBe(outcome === 'extended' ? 1 : 0);
      const { rows } = await db.pool.query(
        'SELECT FROM approvals.extension e JOIN approvals.access_request r ON r.id = e.access_request_id WHERE r.id = $1 AND e.at > r.ended_at',
        [id],
      );
      expect(rows).toEqual([]);
    }
  });
});

describe('the fences of the end of a stage', () => {
  it.each([
    [
      'a later end without an extension',
      `UPDATE approvals.access_request SET stage_ends_at = stage_ends_at + interval '1 s'`,
    ],
    ['no end', 'UPDATE approvals.access_request SET stage_ends_at = NULL'],
    ['another end on record', `UPDATE approvals.extension SET ends_after = ends_after + interval '1 s'`],
    ['an extension that is taken back', 'DELETE FROM approvals.extension'],
  ])('refuse %s', async (_what, sql) => {
    await extend((await open()).id);
    await expect(db.pool.query(sql)).rejects.toMatchObject({ code: 'CS002' });
  });
});
