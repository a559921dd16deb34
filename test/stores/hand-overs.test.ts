import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type AccessRequestStore, createAccessRequestStore } from '../../apps/approvals/stores/access-request.store.ts';
import {
  createDelegationStore,
  type DelegationStore,
  type HandOverOutcome,
  type NewHandOver,
} from '../../apps/approvals/stores/delegation.store.ts';
import type { NewAccessRequest } from '../../apps/approvals/stores/new-rows.ts';
import { anApprover, aStage, newAccessRequest, newVote } from '../support/access-requests.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

let db: TestDatabase;
let store: AccessRequestStore;
let delegations: DelegationStore;
beforeAll(async () => {
  db = await createTestDatabase({ max: 30 });
  store = createAccessRequestStore(db.pool);
  delegations = createDelegationStore(db.pool);
});
afterAll(() => db.drop());

const open = async (changes: Partial<NewAccessRequest> = {}) => {
  const request = newAccessRequest({ stages: [aStage({ quorum: 2 })], ...changes });
  await store.create(request);
  return request;
};
let made = 0;
/** `alice` hands a request to `dora`. */
const handOver = (requestId: string, changes: Partial<NewHandOver> = {}): Promise<HandOverOutcome> =>
  delegations.handOver({
    ...{ id: `dlg_${(made += 1)}`, requestId, delegator: anApprover('alice'), chain: [], delegate: 'dora' },
    ...{ stage: 1, judgedStage: 1, number: 1, ...changes },
  });
const idOf = async (requestId: string) =>
  (await delegations.activeTo('dora')).find((one) => one.accessRequestId === requestId)?.id ?? '';
/** `dora` approves in the place of `alice`. */
const inPlace = async (request: NewAccessRequest, delegationId: string) =>
  store.castVote(newVote(request, { standIn: { subject: 'dora', delegationId } }));

describe('a hand-over', () => {
  it('lets the other person vote once in the place of the approver, and is on record', async () => {
    const request = await open();
    expect(await handOver(request.id)).toBe('handed_over');
    expect(await inPlace(request, await idOf(request.id))).toBe('counted');
    expect((await store.find(request.id))?.votes).toMatchObject([{ approver: { subject: 'alice' }, castBy: 'dora' }]);
    expect(await store.castVote(newVote(request))).toBe('already_voted');
    expect(await store.castVote(newVote(request, { approver: anApprover('dora') }))).toBe('already_voted');
    expect(await store.find(request.id)).toMatchObject({
      ...{ status: 'pending', handOvers: [{ from: 'alice', to: 'dora', at: expect.stringMatching(/Z$/) }] },
    });
    const [statement] = await store.statementsOf([request.id]);
    expect(statement?.hand_overs).toMatchObject([{ by: { subject: 'alice' }, to: 'dora' }]);
  });

  it('is for one request: no other can be decided by it, whichever function inserts the vote', async () => {
    const [handed, other] = [await open(), await open()];
    await handOver(handed.id);
    const id = await idOf(handed.id);
    expect(await inPlace(other, id)).toBe('delegation_over');
    const vote = db.pool.query(
      `INSERT INTO approvals.vote (access_request_id, stage, counts_in, approver_issuer, approver_subject, approver_roles, cast_by, actors,
        delegation_id, verdict, call_digest, via) VALUES ($1, 1, 0, 'i', 'alice', '{}', 'dora', '{}', $2, 'approve', 'd', 'api')`,
      [other.id, id],
    );
    await expect(vote).rejects.toMatchObject({ code: 'CS002' });
  });

  it('lets the other person decide what its author asks for', async () => {
    await handOver((await open()).id);
    const own = await open({ parties: ['alice'] });
    expect(await store.castVote(newVote(own, { approver: anApprover('dora') }))).toBe('counted');
  });

  it('ends when it is revoked, and can then be made to another person', async () => {
    const request = await open();
    await handOver(request.id);
    const id = await idOf(request.id);
    expect(await delegations.revoke(id, 'alice')).toBe('revoked');
    expect(await inPlace(request, id)).toBe('delegation_over');
    expect(await handOver(request.id)).toBe('repeated');
    expect(await idOf(request.id)).toBe('');
    expect(await handOver(request.id, { number: 2, delegate: 'erin' })).toBe('handed_over');
  });

  it('gives one voice to a person to whom two approvers handed the request', async () => {
    const request = await open();
    await handOver(request.id);
    await handOver(request.id, { delegator: anApprover('bob') });
    const given = (await delegations.activeTo('dora')).filter((one) => one.accessRequestId === request.id);
    const outcomes = await Promise.all(
      given.map(({ id, delegator }) =>
        store.castVote(newVote(request, { approver: delegator, standIn: { subject: 'dora', delegationId: id } })),
      ),
    );
    expect(outcomes.toSorted()).toEqual(['already_voted', 'counted']);
    expect(await store.find(request.id)).toMatchObject({ status: 'pending' });
  });

  it('made twice by the same form is made once, and by two forms only the first counts', async () => {
    const request = await open();
    const pressed = await Promise.all(Array.from({ length: 10 }, () => handOver(request.id)));
    expect(pressed.toSorted()).toEqual(['handed_over', ...Array<string>(9).fill('repeated')]);
    expect(await handOver(request.id, { delegate: 'erin' })).toBe('handed_before');
    expect(await handOver(request.id, { delegate: 'erin', number: 2 })).toBe('handed_before');
    expect(await handOver(request.id, { delegate: 'erin', number: 3 })).toBe('handed_before');
  });

  it.each<[string, Partial<NewHandOver>, HandOverOutcome]>([
    ['by the requester', { delegator: anApprover('agent') }, 'own_request'],
    ['by a name behind the approver', { chain: ['agent'] }, 'own_request'],
    ['to the requester', { delegate: 'agent' }, 'delegate_has_part'],
    ['in a stage that is not open', { stage: 2 }, 'stage_over'],
    ['for a stage that was not judged', { judgedStage: 2 }, 'stage_over'],
    ['by a person who has voted', { delegator: anApprover('bob') }, 'already_voted'],
    ['to a person who has voted', { delegate: 'bob' }, 'delegate_voted'],
  ])('%s is refused', async (_what, changes, outcome) => {
    const request = await open();
    await store.castVote(newVote(request, { approver: anApprover('bob') }));
    expect(await handOver(request.id, changes)).toBe(outcome);
    expect((await store.find(request.id))?.handOvers).toBeUndefined();
  });

  it('is refused once the request has ended', async () => {
    const request = await open();
    await store.cancel(request.id, { note: { by: { client: 'mcp-gateway' } } });
    expect(await handOver(request.id)).toBe('final');
    expect(await handOver('arq_none')).toBe('not_found');
  });

  it('at the same moment as votes of both never makes more than one of them count', async () => {
    const stages = [aStage({ quorum: 3 })];
    const requests = await Promise.all(Array.from({ length: 15 }, () => open({ stages })));
    for (const request of requests) {
      const all = await Promise.all([
        handOver(request.id),
        store.castVote(newVote(request)),
        store.castVote(newVote(request, { approver: anApprover('dora') })),
      ]);
      const [handed] = all;
      expect(['handed_over', 'already_voted', 'delegate_voted']).toContain(handed);
      const later = handed === 'handed_over' ? await inPlace(request, await idOf(request.id)) : 'already_voted';
      expect(later).toBe('already_voted');
    }
  });

  it('is forgotten with its request, and never before', async () => {
    const request = await open();
    await handOver(request.id);
    await inPlace(request, await idOf(request.id));
    await expect(db.pool.query('DELETE FROM approvals.delegation')).rejects.toMatchObject({ code: 'CS002' });
    await db.pool.query('DELETE FROM approvals.access_request WHERE id = $1', [request.id]);
    const left = await db.pool.query('SELECT FROM approvals.delegation WHERE access_request_id = $1', [request.id]);
    expect(left.rowCount).toBe(0);
  });

  it('lets no person review the emergency grant of the one whose place they took', async () => {
    const request = await open();
    await handOver(request.id);
    const grant = `SELECT approvals.break_glass($1, 1, $2, 'i', 'alice', NULL, '{}', 'fire', 'inbox', 'apr_1', 60000) AS outcome`;
    expect((await db.pool.query(grant, [request.id, request.callDigest])).rows).toEqual([{ outcome: 'counted' }]);
    const review = (by: string) =>
      db.pool.query(`SELECT approvals.review_break_glass($1, $2, '{}', NULL) AS outcome`, [request.id, by]);
    expect((await review('dora')).rows).toEqual([{ outcome: 'own_request' }]);
    expect((await review('erin')).rows).toEqual([{ outcome: 'reviewed' }]);
  });
});
