import { beforeAll, describe, expect, it } from '@jest/globals';
import type { NewAccessRequest } from '../../apps/approvals/stores/new-rows.ts';
import { anApprover, aStage, newVote } from '../support/access-requests.ts';
import { countingClock } from '../support/database-clock.ts';
import { grantableRequest, OTHER_DIGEST } from '../support/grants.ts';
import { OVERSEER, ownGrants } from '../support/own-grants.ts';
import { waitFor } from '../support/wait-for.ts';

const own = ownGrants();

/** A request that waits for a grant. */
const WAITS = `
  SELECT FROM pg_stat_activity
  WHERE wait_event_type = 'Lock' AND query LIKE '%create_access_request%' AND datname = current_database()`;

const OF_REQUESTER = aStage({
  approvers: { roles: ['approver'], requester: { issuer: 'i', subjects: ['dana'], freshSeconds: 300 } },
});

describe('giving a grant', () => {
  it('approves the request and records the grant in one transaction', async () => {
    const { id, request, outcome } = await own.give();
    expect(outcome).toBe('counted');
    expect(await own.requests.find(request.id)).toMatchObject({ status: 'approved', votes: [{ via: 'inbox' }] });
    expect(await own.grants.find(id, OVERSEER)).toMatchObject({
      ...{ accessRequestId: request.id, tool: 'files__write_file', template: 'operator_approval' },
      ...{ requesterSubject: 'dana', requesterClient: 'agent', maxUses: 10, uses: 0, isOver: false },
      giver: { subject: 'bob', roles: ['approver'] },
      conditions: { path: { equal: '/tmp/a' } },
    });
  });

  it('is answered as a repetition the second time, and gives one grant', async () => {
    const { id, request } = await own.give();
    const scope = { shape: 'sha-256:other', conditions: {}, seconds: 60, uses: 1 };
    const vote = newVote(request, { approver: anApprover('bob'), via: 'inbox' });
    expect(await own.grants.give({ id: `${id}2`, sessionId: 'none', ...scope }, vote)).toBe('repeated');
    expect(await own.grants.find(`${id}2`, OVERSEER)).toBeUndefined();
  });

  it.each<[string, Partial<NewAccessRequest>, object]>([
    ['that policy does not allow', { grantSeconds: undefined, grantUses: undefined }, {}],
    ['for longer than policy allows', { grantSeconds: 599 }, {}],
    ['for more uses than policy allows', { grantUses: 9 }, {}],
    ['where two approvals are needed', { stages: [aStage({ quorum: 2 })] }, {}],
    ['where a second stage follows', { stages: [aStage(), aStage({ name: 'second' })] }, {}],
    ['where the requester may confirm', { stages: [OF_REQUESTER] }, {}],
    ['where a stage demands a passkey', { stages: [{ ...aStage(), passkey: true } as never] }, {}],
    ['for a tool whose description is not known', { toolDigest: undefined }, {}],
    ['for an agent that is not known', { requester: { issuer: undefined, subject: 'dana', clientId: undefined } }, {}],
    ['through the API', {}, { vote: { via: 'api' } }],
    ['in a chat', { stages: [aStage({ chatDecisions: true })] }, { vote: { via: 'slack' } }],
    ['with a denial', {}, { vote: { verdict: 'deny' } }],
  ])('refuses one %s, and decides nothing', async (_what, changes, gift) => {
    const { id, request, outcome } = await own.give(grantableRequest(changes), gift);
    expect(outcome).toBe('not_grantable');
    expect(await own.requests.find(request.id)).toMatchObject({ status: 'pending', votes: [] });
    expect(await own.grants.find(id, OVERSEER)).toBeUndefined();
  });

  it('is refused to the requester', async () => {
    const { outcome } = await own.give(grantableRequest(), { vote: { approver: anApprover('dana') } });
    expect(outcome).toBe('own_request');
  });

  it('is refused once the request has ended', async () => {
    const request = grantableRequest();
    await own.requests.create(request);
    await own.requests.castVote(newVote(request));
    const scope = { id: 'grn_late', sessionId: 'none', shape: 'sha-256:x', conditions: {}, seconds: 60, uses: 1 };
    expect(await own.grants.give(scope, newVote(request, { approver: anApprover('bob'), via: 'inbox' }))).toBe('final');
  });
});

describe('a request under a grant', () => {
  it('is approved as it is opened, in the name of the giver, and names the grant', async () => {
    const { id } = await own.give();
    const one = await own.call(id);
    expect(one).toMatchObject({ status: 'approved', votes: [{ via: 'grant', by: id }] });
    const [statement] = await own.requests.statementsOf([one.id]);
    expect(statement?.votes).toMatchObject([
      { approver: { subject: 'bob' }, via: 'grant', grant: id, verdict: 'approve' },
    ]);
    expect((await own.grants.uses(id, { limit: 10 })).rows).toMatchObject([{ number: 1, accessRequestId: one.id }]);
  });

  it('asks neither a person nor a resolver', async () => {
    const { id } = await own.give();
    await own.call(id, { isNotified: true, stages: [aStage({ automatic: 'risk' })] });
    const { rows } = await own.db.pool.query('SELECT event FROM approvals.notice');
    expect(rows).toEqual([{ event: 'ended' }]);
    expect((await own.db.pool.query('SELECT FROM approvals.question_outbox')).rowCount).toBe(0);
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
    ['the requester may confirm now', { stages: [OF_REQUESTER] }],
    ['a passkey is demanded now', { stages: [{ ...aStage(), passkey: true } as never] }],
    ['policy allows no grant now', { grantSeconds: undefined, grantUses: undefined }],
    ['a call of the giver', { parties: ['dana', 'agent', 'bob'] }],
  ])('is left to people: %s', async (_what, changes) => {
    const { id } = await own.give();
    expect(await own.call(id, changes)).toMatchObject({ status: 'pending', votes: [] });
    expect(await own.usesOf(id)).toBe(0);
  });

  it('is left to people if the giver stands in for the requester by then', async () => {
    const { id } = await own.give();
    await own.asOwner(`INSERT INTO approvals.delegation (id, delegator_issuer, delegator_subject, delegator_roles, delegate_subject, created_at, until,
        delegator_names, delegate_names)
      VALUES ('dlg_1', 'https://idp.test', 'dana', '{approver}', 'bob', now(), now() + interval '1 day', '{dana}', '{bob}')`);
    expect(await own.call(id)).toMatchObject({ status: 'pending', votes: [] });
    expect(await own.usesOf(id)).toBe(0);
  });

  it('is left to people once its giver has signed out, where the template of either request says so', async () => {
    const signIn = (sid: string) =>
      own.db.pool.query(
        `INSERT INTO approvals.session (sid, sess, expire) VALUES ($1, '{}', clock_timestamp() + interval '1 hour')`,
        [sid],
      );
    const stages = [aStage({ grantsEndAtSignOut: true })];
    await signIn('first');
    const watched = await own.give(grantableRequest({ stages }), { sessionId: 'first' });
    const lasting = await own.give(grantableRequest(), { sessionId: 'first' });
    const statuses = async (id: string) => [(await own.call(id, { stages })).status, (await own.call(id)).status];
    expect([await statuses(watched.id), await statuses(lasting.id)]).toEqual([
      ['approved', 'approved'],
      ['approved', 'approved'],
    ]);
    await own.db.pool.query(`DELETE FROM approvals.session WHERE sid = 'first'`);
    await signIn('second');
    expect([await statuses(watched.id), await statuses(lasting.id)]).toEqual([
      ['pending', 'pending'],
      ['pending', 'approved'],
    ]);
    const found = await Promise.all([watched, lasting].map(({ id }) => own.grants.find(id, OVERSEER)));
    expect(found.map((grant) => grant?.isOver)).toEqual([true, false]);
  });

  it('is judged by the clock after the wait for the lock', async () => {
    const { id } = await own.give();
    const holder = await own.db.pool.connect();
    try {
      await holder.query('BEGIN; SET LOCAL session_replication_role = replica');
      await holder.query('SELECT FROM approvals."grant" WHERE id = $1 FOR UPDATE', [id]);
      const waiting = own.call(id);
      await waitFor(async () => (await own.db.pool.query(WAITS)).rowCount === 1);
      await holder.query('UPDATE approvals."grant" SET expires_at = clock_timestamp() WHERE id = $1', [id]);
      await holder.query('COMMIT');
      expect((await waiting).status).toBe('pending');
    } finally {
      holder.release();
    }
  });

  it('is approved for as long and as often as policy allows now, if that is less', async () => {
    const { id } = await own.give(grantableRequest(), { seconds: 600, uses: 10 });
    expect((await own.call(id, { grantUses: 1 })).status).toBe('approved');
    expect((await own.call(id, { grantUses: 1 })).status).toBe('pending');
    await own.age(id, 60);
    expect((await own.call(id, { grantSeconds: 60 })).status).toBe('pending');
    expect((await own.call(id, { grantSeconds: 120 })).status).toBe('approved');
    expect(await own.usesOf(id)).toBe(2);
  });

  it('is not approved by more than policy allows now than the grant has', async () => {
    const { id } = await own.give(grantableRequest(), { seconds: 60, uses: 1 });
    expect((await own.call(id, { grantSeconds: 86_400, grantUses: 1_000 })).status).toBe('approved');
    expect((await own.call(id, { grantSeconds: 86_400, grantUses: 1_000 })).status).toBe('pending');
  });

  it('is approved by the next grant if the first is used up', async () => {
    const [one, other] = [
      await own.give(grantableRequest(), { uses: 1 }),
      await own.give(grantableRequest(), { uses: 1 }),
    ];
    const open = async () => {
      const request = grantableRequest();
      await own.requests.create(request, [one.id, other.id]);
      return (await own.requests.find(request.id))?.status;
    };
    expect([await open(), await open(), await open()]).toEqual(['approved', 'approved', 'pending']);
  });
});

describe('the end of a grant', () => {
  const still = ownGrants();
  // The grant has its last second left, and a machine may stand still for longer.
  beforeAll(() => countingClock(still.db.pool));

  it('is its last moment: a request is approved until then, and not after it', async () => {
    const { id } = await still.give(grantableRequest(), { seconds: 600 });
    await still.age(id, 599);
    expect((await still.call(id)).status).toBe('approved');
    await still.age(id, 1);
    expect((await still.call(id)).status).toBe('pending');
    expect(await still.usesOf(id)).toBe(1);
  });
});
