import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type AccessRequestStore, createAccessRequestStore } from '../../apps/approvals/stores/access-request.store.ts';
import { createGrantStore, type GrantStore } from '../../apps/approvals/stores/grant.store.ts';
import type { NewAccessRequest } from '../../apps/approvals/stores/new-rows.ts';
import { anApprover, aStage, newVote } from '../support/access-requests.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { waitFor } from '../support/wait-for.ts';
import { givenGrant, grantableRequest, OTHER_DIGEST } from '../support/grants.ts';

const OVERSEER = { subject: 'olga', oversees: true };

let db: TestDatabase;
let requests: AccessRequestStore;
let grants: GrantStore;
beforeAll(async () => {
  db = await createTestDatabase({ max: 30 });
  requests = createAccessRequestStore(db.pool);
  grants = createGrantStore(db.pool);
});
afterAll(() => db.drop());
beforeEach(() => asOwner('TRUNCATE approvals.access_request, approvals."grant", approvals.delegation CASCADE'));

/** Without the fences, which refuse such statements. */
const asOwner = (sql: string) =>
  db.pool.query(`SET session_replication_role = replica; ${sql}; SET session_replication_role = origin`);
const give = (...of: Parameters<typeof givenGrant> extends [unknown, ...infer Rest] ? Rest : never) =>
  givenGrant({ requests, grants }, ...of);

/** Opens a request while a grant may cover it, and answers its status and the grant that approved it. */
async function call(grant: string, changes: Parameters<typeof grantableRequest>[0] = {}) {
  const request = grantableRequest(changes);
  await requests.create(request, [grant]);
  const found = await requests.find(request.id);
  return {
    id: request.id,
    status: found?.status,
    votes: found?.votes.map(({ via, grant: by }) => ({ via, by })) ?? [],
  };
}
const usesOf = async (id: string) => (await grants.find(id, OVERSEER))?.uses;

/** The seconds that the grant is moved into the past. */
const age = (id: string, seconds: number) =>
  asOwner(`UPDATE approvals."grant" SET created_at = created_at - interval '${seconds} s',
    expires_at = expires_at - interval '${seconds} s' WHERE id = '${id}';
    UPDATE approvals.grant_use SET at = at - interval '${seconds} s', expires_at = expires_at - interval '${seconds} s' WHERE grant_id = '${id}'`);

/** A request that waits for a grant. */
const WAITS = `
  SELECT FROM pg_stat_activity
  WHERE wait_event_type = 'Lock' AND query LIKE '%create_access_request%' AND datname = current_database()`;

describe('giving a grant', () => {
  it('approves the request and records the grant in one transaction', async () => {
    const { id, request, outcome } = await give();
    expect(outcome).toBe('counted');
    expect(await requests.find(request.id)).toMatchObject({ status: 'approved', votes: [{ via: 'inbox' }] });
    expect(await grants.find(id, OVERSEER)).toMatchObject({
      ...{ accessRequestId: request.id, tool: 'files__write_file', template: 'operator_approval' },
      ...{ requesterSubject: 'dana', requesterClient: 'agent', maxUses: 10, uses: 0, isOver: false },
      giver: { subject: 'bob', roles: ['approver'] },
      conditions: { path: { equal: '/tmp/a' } },
    });
  });

  it('is answered as a repetition the second time, and gives one grant', async () => {
    const { id, request } = await give();
    const scope = { shape: 'sha-256:other', conditions: {}, seconds: 60, uses: 1 };
    const vote = newVote(request, { approver: anApprover('bob'), via: 'inbox' });
    expect(await grants.give({ id: `${id}2`, ...scope }, vote)).toBe('repeated');
    expect(await grants.find(`${id}2`, OVERSEER)).toBeUndefined();
  });

  it.each<[string, Partial<NewAccessRequest>, object]>([
    ['that policy does not allow', { grantSeconds: undefined, grantUses: undefined }, {}],
    ['for longer than policy allows', { grantSeconds: 599 }, {}],
    ['for more uses than policy allows', { grantUses: 9 }, {}],
    ['where two approvals are needed', { stages: [aStage({ quorum: 2 })] }, {}],
    ['where a second stage follows', { stages: [aStage(), aStage({ name: 'second' })] }, {}],
    ['where a stage demands a passkey', { stages: [{ ...aStage(), passkey: true } as never] }, {}],
    ['for a tool whose description is not known', { toolDigest: undefined }, {}],
    ['for an agent that is not known', { requester: { issuer: undefined, subject: 'dana', clientId: undefined } }, {}],
    ['through the API', {}, { vote: { via: 'api' } }],
    ['with a denial', {}, { vote: { verdict: 'deny' } }],
  ])('refuses one %s, and decides nothing', async (_what, changes, gift) => {
    const { id, request, outcome } = await give(grantableRequest(changes), gift);
    expect(outcome).toBe('not_grantable');
    expect(await requests.find(request.id)).toMatchObject({ status: 'pending', votes: [] });
    expect(await grants.find(id, OVERSEER)).toBeUndefined();
  });

  it('is refused to the requester', async () => {
    const { outcome } = await give(grantableRequest(), { vote: { approver: anApprover('dana') } });
    expect(outcome).toBe('own_request');
  });

  it('is refused once the request has ended', async () => {
    const request = grantableRequest();
    await requests.create(request);
    await requests.castVote(newVote(request));
    const scope = { id: 'grn_late', shape: 'sha-256:x', conditions: {}, seconds: 60, uses: 1 };
    expect(await grants.give(scope, newVote(request, { approver: anApprover('bob'), via: 'inbox' }))).toBe('final');
  });
});

describe('a request under a grant', () => {
  it('is approved as it is opened, in the name of the giver, and names the grant', async () => {
    const { id } = await give();
    const one = await call(id);
    expect(one).toMatchObject({ status: 'approved', votes: [{ via: 'grant', by: id }] });
    const [statement] = await requests.statementsOf([one.id]);
    expect(statement?.votes).toMatchObject([
      { approver: { subject: 'bob' }, via: 'grant', grant: id, verdict: 'approve' },
    ]);
    expect((await grants.uses(id, { limit: 10 })).rows).toMatchObject([{ number: 1, accessRequestId: one.id }]);
  });

  it('asks neither a person nor a resolver', async () => {
    const { id } = await give();
    await call(id, { isNotified: true, stages: [aStage({ automatic: 'risk' })] });
    const { rows } = await db.pool.query('SELECT event FROM approvals.notice');
    expect(rows).toEqual([{ event: 'ended' }]);
    expect((await db.pool.query('SELECT FROM approvals.question_outbox')).rowCount).toBe(0);
  });

  it.each<[string, Parameters<typeof grantableRequest>[0]]>([
    ['another tool', { tool: 'files__delete' }],
    ['a tool whose description changed', { toolDigest: OTHER_DIGEST }],
    ['a tool whose description is not known', { toolDigest: undefined }],
    ['another agent', { requester: { issuer: 'https://idp.test', subject: 'dana', clientId: 'agent-2' } }],
    ['another caller', { requester: { issuer: 'https://idp.test', subject: 'erin', clientId: 'agent' } }],
    [
      'the same name at another issuer',
      { requester: { issuer: 'https://x.test', subject: 'dana', clientId: 'agent' } },
    ],
    ['one more actor', { parties: ['dana', 'agent', 'sub-agent'] }],
    ['one actor less', { parties: ['dana'] }],
    ['another enforcement point', { clientId: 'other-gateway' }],
    ['another template', { template: 'finance' }],
    ['two approvals are needed now', { stages: [aStage({ quorum: 2 })] }],
    ['a passkey is demanded now', { stages: [{ ...aStage(), passkey: true } as never] }],
    ['policy allows no grant now', { grantSeconds: undefined, grantUses: undefined }],
    ['a call of the giver', { parties: ['dana', 'agent', 'bob'] }],
  ])('is left to people: %s', async (_what, changes) => {
    const { id } = await give();
    expect(await call(id, changes)).toMatchObject({ status: 'pending', votes: [] });
    expect(await usesOf(id)).toBe(0);
  });

  it('is left to people if the giver stands in for the requester by then', async () => {
    const { id } = await give();
    await asOwner(`INSERT INTO approvals.delegation (id, delegator_issuer, delegator_subject, delegator_roles, delegate_subject, created_at, until)
      VALUES ('dlg_1', 'https://idp.test', 'dana', '{approver}', 'bob', now(), now() + interval '1 day')`);
    expect(await call(id)).toMatchObject({ status: 'pending', votes: [] });
    expect(await usesOf(id)).toBe(0);
  });

  it('is approved until the last moment of the grant, and not after it', async () => {
    const { id } = await give(grantableRequest(), { seconds: 600 });
    await age(id, 595);
    expect((await call(id)).status).toBe('approved');
    await age(id, 5);
    expect((await call(id)).status).toBe('pending');
    expect(await usesOf(id)).toBe(1);
  });

  it('is judged by the clock after the wait for the lock', async () => {
    const { id } = await give();
    const holder = await db.pool.connect();
    try {
      await holder.query('BEGIN; SET LOCAL session_replication_role = replica');
      await holder.query('SELECT FROM approvals."grant" WHERE id = $1 FOR UPDATE', [id]);
      const waiting = call(id);
      await waitFor(async () => (await db.pool.query(WAITS)).rowCount === 1);
      await holder.query('UPDATE approvals."grant" SET expires_at = clock_timestamp() WHERE id = $1', [id]);
      await holder.query('COMMIT');
      expect((await waiting).status).toBe('pending');
    } finally {
      holder.release();
    }
  });

  it('is approved for as long and as often as policy allows now, if that is less', async () => {
    const { id } = await give(grantableRequest(), { seconds: 600, uses: 10 });
    expect((await call(id, { grantUses: 1 })).status).toBe('approved');
    expect((await call(id, { grantUses: 1 })).status).toBe('pending');
    await age(id, 60);
    expect((await call(id, { grantSeconds: 60 })).status).toBe('pending');
    expect((await call(id, { grantSeconds: 120 })).status).toBe('approved');
    expect(await usesOf(id)).toBe(2);
  });

  it('is not approved by more than policy allows now than the grant has', async () => {
    const { id } = await give(grantableRequest(), { seconds: 60, uses: 1 });
    expect((await call(id, { grantSeconds: 86_400, grantUses: 1_000 })).status).toBe('approved');
    expect((await call(id, { grantSeconds: 86_400, grantUses: 1_000 })).status).toBe('pending');
  });

  it('is approved by the next grant if the first is used up', async () => {
    const [one, other] = [await give(grantableRequest(), { uses: 1 }), await give(grantableRequest(), { uses: 1 })];
    const open = async () => {
      const request = grantableRequest();
      await requests.create(request, [one.id, other.id]);
      return (await requests.find(request.id))?.status;
    };
    expect([await open(), await open(), await open()]).toEqual(['approved', 'approved', 'pending']);
  });
});

describe('at the same moment', () => {
  it('200 requests against a budget of 10 are approved exactly 10 times', async () => {
    const { id } = await give();
    const calls = await Promise.all(Array.from({ length: 200 }, () => call(id)));
    expect(calls.filter(({ status }) => status === 'approved')).toHaveLength(10);
    expect(calls.filter(({ status }) => status === 'pending')).toHaveLength(190);
    const { rows } = await db.pool.query<{ numbers: number[] }>(
      'SELECT array_agg(number ORDER BY number) AS numbers FROM approvals.grant_use WHERE grant_id = $1',
      [id],
    );
    expect(rows[0]?.numbers).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  });

  it('requests that may use two grants in either order never wait for each other', async () => {
    const ids = [(await give(grantableRequest(), { uses: 10 })).id, (await give(grantableRequest(), { uses: 10 })).id];
    const open = async (of: readonly string[]) => {
      const request = grantableRequest();
      await requests.create(request, of);
      return (await requests.find(request.id))?.status;
    };
    const all = await Promise.all(Array.from({ length: 60 }, (_, n) => open(n % 2 === 0 ? ids : [...ids].reverse())));
    expect(all.filter((status) => status === 'approved')).toHaveLength(20);
  });

  it('a revocation ends the grant for every request that has no vote yet', async () => {
    const { id } = await give(grantableRequest({ grantUses: 1_000 }), { uses: 1_000 });
    const before = Array.from({ length: 60 }, () => call(id, { grantUses: 1_000 }));
    const revoked = grants.revoke(id, { subject: 'bob', oversees: false });
    const calls = await Promise.all([...before, ...Array.from({ length: 20 }, () => call(id, { grantUses: 1_000 }))]);
    expect(await revoked).toBe('revoked');
    const { rows } = await db.pool.query<{ late: number; votes: number }>(
      `SELECT count(*) FILTER (WHERE v.at > g.revoked_at)::int AS late, count(*)::int AS votes
       FROM approvals.vote v JOIN approvals."grant" g ON g.id = v.grant_id WHERE g.id = $1`,
      [id],
    );
    expect(rows[0]).toEqual({ late: 0, votes: calls.filter(({ status }) => status === 'approved').length });
    expect((await call(id, { grantUses: 1_000 })).status).toBe('pending');
  });
});

describe('a revocation', () => {
  it('is for the giver and for overseers, and can be repeated', async () => {
    const [one, other] = [await give(), await give()];
    expect(await grants.revoke(one.id, { subject: 'carol', oversees: false })).toBe('not_found');
    expect(await grants.revoke(one.id, { subject: 'bob', oversees: false })).toBe('revoked');
    expect(await grants.revoke(one.id, { subject: 'olga', oversees: true })).toBe('revoked');
    expect(await grants.find(one.id, OVERSEER)).toMatchObject({ revokedBy: 'bob' });
    expect(await grants.revoke(other.id, OVERSEER)).toBe('revoked');
    expect((await call(other.id)).status).toBe('pending');
  });
});

describe('the fences of grants', () => {
  it.each([
    ['a longer time', `UPDATE approvals."grant" SET expires_at = expires_at + interval '1 s'`],
    ['more uses', 'UPDATE approvals."grant" SET max_uses = 11'],
    ['other conditions', `UPDATE approvals."grant" SET conditions = '{}'`],
    ['a deletion before its end', 'DELETE FROM approvals."grant"'],
    ['another number of a use', 'UPDATE approvals.grant_use SET number = 5'],
    ['a use that is taken back', 'DELETE FROM approvals.grant_use'],
  ])('refuse %s', async (_what, sql) => {
    const { id } = await give();
    await call(id);
    await expect(db.pool.query(sql)).rejects.toMatchObject({ code: 'CS002' });
  });

  it('refuse a use beyond the number or the time, and a vote that is no counted use', async () => {
    const { id } = await give();
    const { request } = await give(grantableRequest(), { vote: { approver: anApprover('carol') } });
    const use = (number: number, at: string) =>
      db.pool.query(`INSERT INTO approvals.grant_use (grant_id, number, max_uses, expires_at, access_request_id, at)
        SELECT id, ${number}, max_uses, expires_at, 'arq_x', ${at} FROM approvals."grant" WHERE id = '${id}'`);
    await expect(use(11, 'created_at')).rejects.toMatchObject({ constraint: 'grant_use_within_number' });
    await expect(use(1, 'expires_at')).rejects.toMatchObject({ constraint: 'grant_use_in_time' });
    const vote = `INSERT INTO approvals.vote (access_request_id, stage, counts_in, approver_issuer, approver_subject, approver_roles,
        cast_by, actors, verdict, call_digest, via, grant_id)
      VALUES ('${request.id}', 1, 1, 'i', 'bob', '{}', 'bob', '{}', 'approve', 'd', 'grant', '${id}')`;
    await expect(db.pool.query(vote)).rejects.toMatchObject({ constraint: 'vote_is_use_of_grant' });
  });
});

describe('the retention of a grant', () => {
  const moved = ['created_at', 'expires_at', 'ended_at', 'approved_at', 'approved_until'];
  const LONG_AGO = `UPDATE approvals.access_request SET ${moved.map((one) => `${one} = ${one} - interval '9 days'`).join(', ')}`;

  it('ends after the last request that it is about', async () => {
    const { id } = await give();
    const used = await call(id);
    const forget = () => requests.forgetEnded(100);
    const exists = async () => (await grants.find(id, OVERSEER)) !== undefined;
    await age(id, 3 * 86_400);
    await forget();
    expect(await exists()).toBe(true);
    await asOwner(`${LONG_AGO} WHERE id <> '${used.id}'`);
    await forget();
    expect(await exists()).toBe(true);
    await asOwner(LONG_AGO);
    await forget();
    await forget();
    expect(await exists()).toBe(false);
    expect((await db.pool.query('SELECT FROM approvals.grant_use')).rowCount).toBe(0);
  });
});
