import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createAccessRequestStore } from '../../../apps/approvals/stores/access-request.store.ts';
import { anApprover, newVote } from '../../support/access-requests.ts';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import { csrfTokenIn } from '../../support/pages.ts';

const templates = {
  of_two: { stages: [{ name: 'two', approvers: { people: ['alice', 'bob', 'carol'] }, quorum: 2 }] },
  of_alice: { stages: [{ name: 'alice', approvers: { people: ['alice'] } }] },
  of_role: { stages: [{ name: 'officer', approvers: { roles: ['officer'] } }] },
};
const DAY = 86_400_000;

describe('delegation', () => {
  const service = new ApprovalsUnderTest();
  beforeAll(() =>
    service.start({
      approvals: { templates, webhookApprovers: ['alice'] },
      identity: {
        people: [
          ...['alice', 'bob', 'carol', 'dora', 'rita'].map((name) => ({ name, roles: ['approver'] })),
          { name: 'oscar', roles: ['approver', 'officer'] },
          { name: 'agent', roles: ['agent'] },
        ],
      },
    }),
  );
  afterAll(() => service.stop());

  const open = (template: keyof typeof templates, subject = 'agent') => service.open({ subject, claims: { template } });
  type Opened = Awaited<ReturnType<typeof open>>;
  const post = (name: string, path: string, body: object = {}) =>
    service.asPerson(name, path, { method: 'POST', body: JSON.stringify(body) });
  const delegate = async (from: string, to: string, until = new Date(Date.now() + DAY).toISOString()) => {
    const { status, body } = await post(from, '/delegations', { delegate: to, until });
    if (status !== 201) throw new Error(`${status}: ${JSON.stringify(body)}`);
    return body.id as string;
  };
  const revoke = (name: string, id: string) => post(name, `/delegations/${id}/revoke`);
  const standIn = (name: string, request: Opened, onBehalfOf: string) =>
    service.vote(name, request, 'approve', { onBehalfOf });
  const statusOf = async (id: string) => (await service.status(id)).body.task.status as string;

  it('lets a delegate vote in the name of the delegator until it is revoked [ARAP-APV-01]', async () => {
    const request = await open('of_alice');
    expect((await service.vote('dora', request, 'approve')).status).toBe(404);
    const id = await delegate('alice', 'dora');
    const { body } = await service.asPerson('dora', `/requests/${request.id}`);
    expect([body.request.obstacle, body.request.onBehalfOf]).toEqual([undefined, ['alice']]);
    expect((await standIn('dora', request, 'alice')).status).toBe(200);
    expect(await statusOf(request.id)).toBe('approved');
    const { votes } = (await service.asPerson('alice', `/requests/${request.id}`)).body.request;
    expect(votes).toMatchObject([{ approver: { subject: 'alice' }, castBy: 'dora', verdict: 'approve' }]);

    expect((await revoke('dora', id)).status).toBe(404);
    expect((await revoke('alice', id)).status).toBe(200);
    expect((await revoke('alice', id)).status).toBe(200);
    const later = await open('of_alice');
    const refused = await standIn('dora', later, 'alice');
    expect([refused.status, refused.body.title]).toEqual([404, 'There is no such request']);
    const shared = await standIn('dora', await service.open(), 'alice');
    expect([shared.status, shared.body.title]).toEqual([403, 'You do not stand in for this approver']);
    expect(await statusOf(later.id)).toBe('pending');
  });

  it('gives one voice to two people, regardless of who votes first', async () => {
    const id = await delegate('alice', 'bob');
    const [first, second, third] = [await open('of_two'), await open('of_two'), await open('of_two')];
    // First the delegate votes for Alice and then for himself, then in reverse order, then Alice votes first.
    expect((await standIn('bob', first, 'alice')).status).toBe(200);
    expect((await service.vote('bob', first, 'approve')).status).toBe(409);
    expect((await service.vote('alice', first, 'approve')).status).toBe(409);
    expect((await service.voteByWebhook('alice', first, 'approve')).status).toBe(409);
    expect((await service.vote('bob', second, 'approve')).status).toBe(200);
    expect((await standIn('bob', second, 'alice')).status).toBe(409);
    expect((await service.vote('alice', third, 'approve')).status).toBe(200);
    expect((await standIn('bob', third, 'alice')).status).toBe(409);
    for (const { id: one } of [first, second, third]) expect(await statusOf(one)).toBe('pending');
    await service.vote('carol', first, 'approve');
    expect(await statusOf(first.id)).toBe('approved');
    await revoke('alice', id);
  });

  it('cannot be passed on: a delegate of a delegate speaks only for that delegate', async () => {
    const [one, two] = [await delegate('alice', 'dora'), await delegate('dora', 'carol')];
    const request = await open('of_alice');
    expect((await standIn('carol', request, 'alice')).status).toBe(404);
    expect((await standIn('carol', request, 'dora')).status).toBe(404);
    // The database enforces the same rule for a forged stand-in.
    const store = createAccessRequestStore(service.database.pool);
    const forged = { subject: 'carol', delegationId: one };
    const vote = { approver: anApprover('alice'), standIn: forged };
    expect(await store.castVote(newVote(request, vote))).toBe('delegation_over');
    expect(await store.castVote(newVote(request, { ...vote, standIn: { ...forged, delegationId: two } }))).toBe(
      'delegation_over',
    );
    for (const [name, id] of [
      ['alice', one],
      ['dora', two],
    ] as const)
      await revoke(name, id);
  });

  it('keeps a delegate of the requester from voting by any way, even after the delegation was revoked [ARAP-APV-01]', async () => {
    const request = await open('of_two', 'rita');
    const id = await delegate('rita', 'bob');
    const refused = await service.vote('bob', request, 'approve');
    expect([refused.status, refused.body.title]).toEqual([403, 'You stand in for a person who requested this']);
    expect((await standIn('bob', request, 'rita')).body.title).toBe('You requested this yourself');
    await revoke('rita', id);
    expect((await service.vote('bob', request, 'approve')).status).toBe(403);
    const store = createAccessRequestStore(service.database.pool);
    expect(await store.castVote(newVote(request, { approver: anApprover('bob') }))).toBe('delegate_of_requester');
    // The revoked delegation does not affect a later request.
    expect((await service.vote('bob', await open('of_two', 'rita'), 'approve')).status).toBe(200);
  });

  it('keeps the requester from voting in the name of a delegator', async () => {
    const id = await delegate('alice', 'rita');
    const request = await open('of_alice', 'rita');
    expect((await standIn('rita', request, 'alice')).body.title).toBe('You requested this yourself');
    await revoke('alice', id);
  });

  it('carries the roles of the absent person', async () => {
    const id = await delegate('oscar', 'dora');
    const request = await open('of_role');
    expect((await service.vote('dora', request, 'approve')).body.title).toBe('You cannot decide this request');
    expect((await standIn('dora', request, 'oscar')).status).toBe(200);
    expect(await statusOf(request.id)).toBe('approved');
    await revoke('oscar', id);
  });

  it.each([
    [{ delegate: 'alice', until: '2999-01-01' }, 'You cannot stand in for yourself'],
    [{ delegate: 'bob', until: '2999-01-01' }, 'The delegation is too long'],
    [{ delegate: 'bob', until: '2020-01-01' }, 'That day is in the past'],
    [{ delegate: 'bob' }, 'The delegation is incomplete'],
    [{ delegate: '', until: '2999-01-01' }, 'The delegation is incomplete'],
  ])('is refused for %j: %s', async (body, title) => {
    const answer = await post('alice', '/delegations', body);
    expect([answer.status, answer.body.title]).toEqual([400, title]);
    expect((await service.asPerson('alice', '/delegations')).body.made).not.toContainEqual(
      expect.objectContaining({ revokedAt: undefined }),
    );
  });

  it('is refused by the database when it names its own author, lasts too long or is changed later', async () => {
    const id = await delegate('carol', 'dora');
    const { pool } = service.database;
    const insert = `INSERT INTO approvals.delegation (id, delegator_issuer, delegator_subject, delegator_roles, delegate_subject,
      created_at, until) VALUES ('dlg_x', 'i', 'a', '{}',`;
    for (const [statement, code] of [
      [`${insert} 'a', now(), now() + interval '1 day')`, '23514'],
      [`${insert} 'b', now(), now() + interval '93 days')`, '23514'],
      [`UPDATE approvals.delegation SET delegate_subject = 'zoe' WHERE id = '${id}'`, 'CS002'],
      [`DELETE FROM approvals.delegation WHERE id = '${id}'`, 'CS002'],
    ] as const) {
      await expect(pool.query(statement)).rejects.toMatchObject({ code });
    }
    await revoke('carol', id);
    const again = `UPDATE approvals.delegation SET revoked_at = NULL WHERE id = '${id}'`;
    await expect(pool.query(again)).rejects.toMatchObject({ code: 'CS002' });
  });

  it('is made, used and revoked in a browser', async () => {
    const alice = await service.signIn('alice');
    const csrfToken = csrfTokenIn(await (await alice.go('/delegations')).text());
    const day = new Date(Date.now() + DAY).toISOString().slice(0, 10);
    expect((await alice.go('/delegations', { delegate: 'dora', until: day, csrfToken })).status).toBe(303);
    expect((await alice.go('/delegations', { delegate: 'dora', until: day })).status).toBe(403);
    const page = await (await alice.go('/delegations')).text();
    const id = /action="\/delegations\/([^"/]+)\/revoke"/.exec(page)?.[1] ?? '';
    expect(page).toContain('dora');

    const request = await open('of_alice');
    const dora = await service.signIn('dora');
    const shown = await (await dora.go(`/requests/${request.id}`)).text();
    expect(shown).toContain('<option value="alice">alice (you stand in for them)</option>');
    const vote = { verdict: 'approve', callDigest: request.callDigest, stage: '1', onBehalfOf: 'alice' };
    const sent = { ...vote, csrfToken: csrfTokenIn(shown) };
    expect((await dora.go(`/requests/${request.id}/votes`, sent)).status).toBe(303);
    expect(await (await dora.go(`/requests/${request.id}`)).text()).toContain('on behalf of');
    expect(await (await alice.go(`/requests/${request.id}`)).text()).toContain('for you');

    expect((await alice.go(`/delegations/${id}/revoke`, { csrfToken })).status).toBe(303);
    expect(await (await alice.go('/delegations')).text()).toContain('(revoked)');
  });
});
