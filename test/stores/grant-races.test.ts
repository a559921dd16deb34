import { describe, expect, it } from '@jest/globals';
import { anApprover } from '../support/access-requests.ts';
import { grantableRequest } from '../support/grants.ts';
import { OVERSEER, ownGrants } from '../support/own-grants.ts';

const own = ownGrants();

describe('at the same moment', () => {
  it('200 requests against a budget of 10 are approved exactly 10 times', async () => {
    const { id } = await own.give();
    const calls = await Promise.all(Array.from({ length: 200 }, () => own.call(id)));
    expect(calls.filter(({ status }) => status === 'approved')).toHaveLength(10);
    expect(calls.filter(({ status }) => status === 'pending')).toHaveLength(190);
    const { rows } = await own.db.pool.query<{ numbers: number[] }>(
      'SELECT array_agg(number ORDER BY number) AS numbers FROM approvals.grant_use WHERE grant_id = $1',
      [id],
    );
    expect(rows[0]?.numbers).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  });

  it('requests that may use two grants in either order never wait for each other', async () => {
    const ids = [
      (await own.give(grantableRequest(), { uses: 10 })).id,
      (await own.give(grantableRequest(), { uses: 10 })).id,
    ];
    const open = async (of: readonly string[]) => {
      const request = grantableRequest();
      await own.requests.create(request, of);
      return (await own.requests.find(request.id))?.status;
    };
    const all = await Promise.all(Array.from({ length: 60 }, (_, n) => open(n % 2 === 0 ? ids : [...ids].reverse())));
    expect(all.filter((status) => status === 'approved')).toHaveLength(20);
  });

  it('a revocation ends the grant for every request that has no vote yet', async () => {
    const { id } = await own.give(grantableRequest({ grantUses: 1_000 }), { uses: 1_000 });
    const before = Array.from({ length: 60 }, () => own.call(id, { grantUses: 1_000 }));
    const revoked = own.grants.revoke(id, { subject: 'bob', oversees: false });
    const calls = await Promise.all([
      ...before,
      ...Array.from({ length: 20 }, () => own.call(id, { grantUses: 1_000 })),
    ]);
    expect(await revoked).toBe('revoked');
    const { rows } = await own.db.pool.query<{ late: number; votes: number }>(
      `SELECT count(*) FILTER (WHERE v.at > g.revoked_at)::int AS late, count(*)::int AS votes
       FROM approvals.vote v JOIN approvals."grant" g ON g.id = v.grant_id WHERE g.id = $1`,
      [id],
    );
    expect(rows[0]).toEqual({ late: 0, votes: calls.filter(({ status }) => status === 'approved').length });
    expect((await own.call(id, { grantUses: 1_000 })).status).toBe('pending');
  });
});

describe('a revocation', () => {
  it('is for the giver and for overseers, and can be repeated', async () => {
    const [one, other] = [await own.give(), await own.give()];
    expect(await own.grants.revoke(one.id, { subject: 'carol', oversees: false })).toBe('not_found');
    expect(await own.grants.revoke(one.id, { subject: 'bob', oversees: false })).toBe('revoked');
    expect(await own.grants.revoke(one.id, { subject: 'olga', oversees: true })).toBe('revoked');
    expect(await own.grants.find(one.id, OVERSEER)).toMatchObject({ revokedBy: 'bob' });
    expect(await own.grants.revoke(other.id, OVERSEER)).toBe('revoked');
    expect((await own.call(other.id)).status).toBe('pending');
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
    const { id } = await own.give();
    await own.call(id);
    await expect(own.db.pool.query(sql)).rejects.toMatchObject({ code: 'CS002' });
  });

  it('refuse a use beyond the number or the time, and a vote that is no counted use', async () => {
    const { id } = await own.give();
    const { request } = await own.give(grantableRequest(), { vote: { approver: anApprover('carol') } });
    const use = (number: number, at: string) =>
      own.db.pool.query(`INSERT INTO approvals.grant_use (grant_id, number, max_uses, expires_at, access_request_id, at)
        SELECT id, ${number}, max_uses, expires_at, 'arq_x', ${at} FROM approvals."grant" WHERE id = '${id}'`);
    await expect(use(11, 'created_at')).rejects.toMatchObject({ constraint: 'grant_use_within_number' });
    await expect(use(1, 'expires_at')).rejects.toMatchObject({ constraint: 'grant_use_in_time' });
    const vote = `INSERT INTO approvals.vote (access_request_id, stage, counts_in, approver_issuer, approver_subject, approver_roles,
        cast_by, actors, verdict, call_digest, via, grant_id)
      VALUES ('${request.id}', 1, 1, 'i', 'bob', '{}', 'bob', '{}', 'approve', 'd', 'grant', '${id}')`;
    await expect(own.db.pool.query(vote)).rejects.toMatchObject({ constraint: 'vote_is_use_of_grant' });
  });
});

describe('the retention of a grant', () => {
  const moved = ['created_at', 'expires_at', 'ended_at', 'approved_at', 'approved_until'];
  const LONG_AGO = `UPDATE approvals.access_request SET ${moved.map((one) => `${one} = ${one} - interval '9 days'`).join(', ')}`;

  it('ends after the last request that it is about', async () => {
    const { id } = await own.give();
    const used = await own.call(id);
    const forget = () => own.requests.forgetEnded(100);
    const exists = async () => (await own.grants.find(id, OVERSEER)) !== undefined;
    await own.age(id, 3 * 86_400);
    await forget();
    expect(await exists()).toBe(true);
    await own.asOwner(`${LONG_AGO} WHERE id <> '${used.id}'`);
    await forget();
    expect(await exists()).toBe(true);
    await own.asOwner(LONG_AGO);
    await forget();
    await forget();
    expect(await exists()).toBe(false);
    expect((await own.db.pool.query('SELECT FROM approvals.grant_use')).rowCount).toBe(0);
  });
});
