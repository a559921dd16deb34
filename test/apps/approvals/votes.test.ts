import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createAccessRequestStore } from '../../../apps/approvals/stores/access-request.store.ts';
import { anApprover, newVote } from '../../support/access-requests.ts';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import { inParallel, times } from '../../support/regime.ts';
import { untilAnswered } from '../../support/wait-for.ts';

/** Requests that are voted on at the same time: few enough that no vote waits long for a database connection. */
const AT_ONCE = 6;
const RACES = times(12, 60);

describe('votes', () => {
  const service = new ApprovalsUnderTest();
  beforeAll(() => service.start());
  afterAll(() => service.stop());

  const statusOf = async (id: string) => (await service.status(id)).body.task.status as string;
  const cancel = (id: string) => service.asGateway(`/access/v1/requests/${id}/cancel`, { method: 'POST' });

  it(`have one winner among approve, deny and cancel, ${RACES} times [ARAP-STS-04]`, async () => {
    const winners: unknown[] = [];
    await inParallel(RACES, AT_ONCE, async () => {
      const request = await service.open();
      const outcomes = await Promise.all([
        untilAnswered(() => service.vote('alice', request, 'approve')),
        untilAnswered(() => service.voteByWebhook('bob', request, 'deny')),
        untilAnswered(() => cancel(request.id)),
      ]);
      expect(outcomes.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
      const winner = ['approved', 'denied', 'cancelled'][outcomes.findIndex(({ status }) => status === 200)];
      expect(await statusOf(request.id)).toBe(winner);
      winners.push(winner);
    });
    expect(winners).toHaveLength(RACES);
    const { rows } = await service.database.pool.query(
      `SELECT count(*)::int AS n FROM approvals.vote v JOIN approvals.access_request r ON r.id = v.access_request_id
       WHERE (r.status = 'cancelled') OR (v.verdict = 'approve') <> (r.status = 'approved')`,
    );
    expect(rows[0].n).toBe(0);
  });

  it('count an approver once across all ways', async () => {
    const request = await service.open();
    const answers = await Promise.all([
      ...Array.from({ length: 4 }, () => service.vote('alice', request, 'approve')),
      service.voteByWebhook('alice', request, 'approve'),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    const changed = await service.vote('alice', request, 'deny');
    expect([changed.status, changed.body.title]).toEqual([409, 'You have already decided this']);
    const { rows } = await service.database.pool.query(
      'SELECT count(*)::int AS n FROM approvals.vote WHERE access_request_id = $1',
      [request.id],
    );
    expect(rows[0].n).toBe(1);
  });

  it('are refused for another call or generation than the approver saw', async () => {
    const request = await service.open();
    const other = { ...request, callDigest: `sha-256:${'0'.repeat(64)}` };
    expect((await service.vote('alice', other, 'approve')).status).toBe(409);
    expect((await service.vote('alice', request, 'approve', { generation: 2 })).status).toBe(409);
    expect(await statusOf(request.id)).toBe('pending');
  });

  it("are refused from the requester and from the requester's agent, by any way [ARAP-APV-02]", async () => {
    const own = await service.open({ subject: 'bob', agent: 'some-agent' });
    const agents = await service.open({ subject: 'requester', agent: 'bob' });
    for (const request of [own, agents]) {
      const byApi = await service.vote('bob', request, 'approve');
      expect([byApi.status, byApi.body.title]).toEqual([403, 'You requested this yourself']);
      expect((await service.voteByWebhook('bob', request, 'approve')).status).toBe(403);
      const browser = await service.signIn('bob');
      const csrfToken =
        /name="csrfToken" value="([^"]+)"/.exec(await (await browser.go('/requests')).text())?.[1] ?? '';
      const form = { verdict: 'approve', callDigest: request.callDigest, generation: '1', csrfToken };
      expect((await browser.go(`/requests/${request.id}/votes`, form)).status).toBe(403);
      // The database enforces the same rule.
      const store = createAccessRequestStore(service.database.pool);
      const vote = newVote(request, { approver: anApprover('bob', ['approver'], 'https://another-issuer.test') });
      expect(await store.castVote(vote)).toBe('own_request');
      expect(await statusOf(request.id)).toBe('pending');
    }
    expect(service.log).toContain('"outcome":"own_request"');
  });
});
