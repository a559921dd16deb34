import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createAccessRequestStore, type AccessRequestStore } from '../../apps/approvals/stores/access-request.store.ts';
import type { NewAccessRequest } from '../../apps/approvals/stores/new-rows.ts';
import { LOOKED_THROUGH, readerRow } from '../../apps/approvals/listing.ts';
import { EMPTY_DIRECTORY } from '../../apps/shared/directory/directory.ts';
import { anApprover, aStage, newAccessRequest, newVote } from '../support/access-requests.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

const readerOf = (subject: string, roles: readonly string[]) => {
  const who = { self: anApprover(subject, roles), standsInFor: [], isPerson: true, mayBreakGlass: false };
  return readerRow({ ...who, chain: [], actors: [] }, EMPTY_DIRECTORY);
};
const ALICE = readerOf('alice', ['approver']);

describe('other requests of the same agent', () => {
  let db: TestDatabase;
  let store: AccessRequestStore;
  beforeAll(async () => {
    db = await createTestDatabase();
    store = createAccessRequestStore(db.pool);
  });
  afterAll(() => db.drop());
  beforeEach(() => db.pool.query('TRUNCATE approvals.access_request CASCADE'));

  const made = (tool: string, agent: string | undefined, changes: Partial<NewAccessRequest> = {}) =>
    newAccessRequest({ tool, requester: { issuer: 'i', subject: 'paul', clientId: agent }, ...changes });
  const open = async (...of: Parameters<typeof made>) => {
    const request = made(...of);
    await store.create(request);
    return request;
  };
  const ended = async (verdict: 'approve' | 'deny', ...of: Parameters<typeof made>) => {
    const request = await open(...of);
    expect(await store.castVote(newVote(request, { verdict }))).toBe('counted');
    return request;
  };

  it('are the last five that ended for the same tool, the latest first, with who decided', async () => {
    const all = [];
    for (let n = 0; n < 6; n += 1) all.push(await ended(n % 2 === 0 ? 'deny' : 'approve', 'one', 'host'));
    await ended('deny', 'two', 'host');
    await ended('deny', 'one', 'another host');
    const shown = await store.sameAgent(await open('one', 'host'), ALICE);
    expect(shown?.ended.map(({ id }) => id)).toEqual(
      all
        .slice(1)
        .map(({ id }) => id)
        .toReversed(),
    );
    expect(shown?.ended.slice(0, 2)).toMatchObject([
      { status: 'approved', by: ['alice'], subject: 'paul' },
      { status: 'denied', by: ['alice'] },
    ]);
    expect(shown).toMatchObject({ open: [], openCount: 0 });
  });

  it('say who cancelled, revoked, and granted in an emergency', async () => {
    const cancelled = await open('one', 'host');
    await store.cancel(cancelled.id, { note: { by: { issuer: 'i', subject: 'carol' } } });
    const revoked = await ended('approve', 'one', 'host');
    await store.revoke({
      requestId: revoked.id,
      by: { issuer: 'i', subject: 'dora' },
      reason: undefined,
      via: 'inbox',
    });
    const broken = await open('one', 'host');
    await db.pool.query(
      `SELECT approvals.break_glass($1, 1, $2, 'i', 'sam', NULL, '{}', 'why', 'inbox', 'apr_sam', 60000)`,
      [broken.id, broken.callDigest],
    );
    expect((await store.sameAgent(made('one', 'host'), ALICE))?.ended).toMatchObject([
      { id: broken.id, status: 'approved', by: ['sam'] },
      { id: revoked.id, status: 'approved', by: ['alice'], revokedBy: 'dora' },
      { id: cancelled.id, status: 'cancelled', by: ['carol'] },
    ]);
  });

  it('are counted while they are open, for every tool, without the request itself', async () => {
    const all = [];
    for (let n = 0; n < 7; n += 1) all.push(await open(`tool ${n}`, 'host'));
    const shown = await store.sameAgent(all[6] ?? made('one', 'host'), ALICE);
    expect(shown).toMatchObject({ openCount: 6, isCountCut: false });
    expect(shown?.open.map(({ tool }) => tool)).toEqual([5, 4, 3, 2, 1].map((n) => `tool ${n}`));
  });

  it('leave out what the reader may not read', async () => {
    const others = { stages: [aStage({ approvers: { people: ['bob'] } })] };
    await open('one', 'host', others);
    const secret = await open('one', 'host', others);
    await store.castVote(newVote(secret, { approver: anApprover('bob') }));
    const own = await open('one', 'host');
    expect(await store.sameAgent(made('one', 'host'), ALICE)).toMatchObject({
      ended: [],
      open: [{ id: own.id }],
      openCount: 1,
    });
    expect(await store.sameAgent(made('one', 'host'), readerOf('stranger', []))).toMatchObject({
      ...{ ended: [], open: [], openCount: 0 },
    });
  });

  it('are looked for among the latest only', async () => {
    await open('first', 'host');
    for (let n = 0; n < LOOKED_THROUGH; n += 1) await open('later', 'host');
    expect(await store.sameAgent(made('one', 'host'), ALICE)).toMatchObject({
      ...{ openCount: LOOKED_THROUGH, isCountCut: true },
    });
  });

  it('are not looked for if no agent is named', async () => {
    await open('one', undefined);
    expect(await store.sameAgent(made('one', undefined), ALICE)).toBeUndefined();
  });
});
