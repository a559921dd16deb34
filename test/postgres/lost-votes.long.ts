import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import { createAccessRequestStore } from '../../apps/approvals/stores/access-request.store.ts';
import { createPool } from '../../apps/shared/database/pool.ts';
import { anApprover, aStage, newAccessRequest, newVote } from '../support/access-requests.ts';
import { ApprovalsUnderTest } from '../support/approvals.ts';
import { NetProxy } from '../support/net-proxy.ts';
import { inParallel, times } from '../support/regime.ts';
import { ordinaryTime } from '../support/time.ts';

const service = new ApprovalsUnderTest();
const proxy = new NetProxy();
let pool: Pool;
let store: ReturnType<typeof createAccessRequestStore>;
beforeAll(async () => {
  await service.start();
  pool = createPool(await proxy.listen(service.database.url), { ...ordinaryTime, applicationName: 'behind the proxy' });
  store = createAccessRequestStore(pool);
});
afterAll(async () => {
  await pool.end();
  await proxy.close();
  await service.stop();
});

type Opened = Awaited<ReturnType<typeof service.open>>;
const voteOn = (request: Opened, subject = 'alice', verdict: 'approve' | 'deny' = 'approve') =>
  newVote(request, { approver: anApprover(subject), verdict });
const votesOn = async (id: string) =>
  (await service.database.pool.query('SELECT verdict FROM approvals.vote WHERE access_request_id = $1', [id])).rows;

describe('a connection that breaks around the commit of a vote', () => {
  it.each([
    ['before', 'counted'],
    ['after', 'repeated'],
  ] as const)(
    '(%s it is made): a voter who votes again learns the state of the request, and has one vote',
    async (when, outcome) => {
      const request = await service.open();
      const cut = proxy.cut({ statement: 'approvals-cast-vote', when });
      await expect(store.castVote(voteOn(request))).rejects.toThrow();
      await cut;
      expect(await store.castVote(voteOn(request))).toBe(outcome);
      expect(await votesOn(request.id)).toEqual([{ verdict: 'approve' }]);
      expect((await store.find(request.id))?.status).toBe('approved');
    },
  );

  it.each([
    ['before', 'counted'],
    ['after', 'repeated'],
  ] as const)(
    '(%s it is made) that came in a message: the repeated message gets the same answer',
    async (when, outcome) => {
      const request = await service.open();
      const message = { source: 'decisions', webhookId: `msg_${randomUUID()}`, bodyDigest: 'sha-256:a' };
      const cut = proxy.cut({ statement: 'approvals-accept-decision', when });
      await expect(store.acceptDecision(message, voteOn(request))).rejects.toThrow();
      await cut;
      expect(await store.acceptDecision(message, voteOn(request))).toBe(outcome);
      expect(await votesOn(request.id)).toHaveLength(1);
    },
  );
});

describe('three approvers who vote at the same instant on a request that needs two', () => {
  it.each([
    [['approve', 'approve', 'approve'], ['approved']],
    [
      ['approve', 'approve', 'deny'],
      ['approved', 'denied'],
    ],
    [['approve', 'deny', 'deny'], ['denied']],
  ] as const)('%j: the decision that settles it is final', async (verdicts, ends) => {
    await inParallel(times(10, 200), 3, async () => {
      const request = { ...newAccessRequest({ stages: [aStage({ quorum: 2 })] }), generation: 1 };
      await store.create(request);
      const outcomes = await Promise.all(
        verdicts.map((verdict, index) => store.castVote(voteOn(request, `voter-${index}`, verdict))),
      );
      const { status } = (await store.find(request.id)) ?? {};
      expect(ends).toContain(status);
      const counted = outcomes.filter((outcome) => outcome === 'counted').length;
      const votes = await votesOn(request.id);
      expect(votes).toHaveLength(counted);
      const approvals = votes.filter(({ verdict }) => verdict === 'approve').length;
      // Approved by two without a denial, or denied by one denial; a vote after the end does not count.
      if (status === 'approved') expect([approvals, votes.length]).toEqual([2, 2]);
      else expect(votes.length - approvals).toBe(1);
    });
  });
});
