import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { createAccessRequestStore } from '../../apps/approvals/stores/access-request.store.ts';
import { newVote } from '../support/access-requests.ts';
import { ApprovalsUnderTest } from '../support/approvals.ts';
import { decisionBody, postSigned } from '../support/decisions.ts';
import { everySoOften, unreliable } from '../support/postgres-faults.ts';
import { inParallel, times } from '../support/regime.ts';
import { patiently } from '../support/wait-for.ts';

const service = new ApprovalsUnderTest();
beforeAll(() => service.start());
afterAll(() => service.stop());
beforeEach(() => service.database.pool.query('TRUNCATE approvals.access_request CASCADE'));

const repeated = <T>(attempt: () => Promise<T>) => patiently(attempt, { timeoutMs: 60_000, everyMs: 5 });
const answered = <Answer extends { readonly status: number }>(ask: () => Promise<Answer>) =>
  repeated(async () => {
    const answer = await ask();
    if (answer.status >= 500) throw new Error(`answered ${answer.status}`);
    return answer;
  });

/** One request for each submission, approved by one vote, and no other rows. */
async function eachWasOpenedAndApprovedOnce(count: number): Promise<void> {
  const { rows } = await service.database.pool.query(
    `SELECT status, votes, count(*)::int AS requests FROM (SELECT r.status, (SELECT count(*)::int FROM approvals.vote v
       WHERE v.access_request_id = r.id) AS votes FROM approvals.access_request r) AS of_request GROUP BY status, votes`,
  );
  expect(rows).toEqual([{ status: 'approved', votes: 1, requests: count }]);
}

describe('the access request service over a database that fails now and then', () => {
  it('opens each request once and counts each vote once while its sessions are ended at random', async () => {
    const count = times(40, 500);
    let ended = 0;
    const endings = everySoOften(
      async () => {
        const { rowCount } = await service.database.pool.query(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
           WHERE application_name = 'countersign approvals' AND datname = current_database() ORDER BY random() LIMIT 1`,
        );
        ended += rowCount ?? 0;
      },
      { fromMs: 10, toMs: 40 },
    );
    try {
      await inParallel(count, 8, async () => {
        const body = await service.submission();
        const key = { 'idempotency-key': randomUUID() };
        const { status, body: answer } = await answered(() => service.submit(body, key));
        expect([200, 202]).toContain(status);
        const { id } = answer.task;
        const request = { id, generation: 1, callDigest: body.context.call_digest };
        const decision = decisionBody(request, { verdict: 'approve' });
        const message = { id: `msg_${randomUUID()}`, secret: service.secrets.decisionWebhookSecret };
        await answered(() => postSigned(`${service.url}/webhooks/decisions`, decision, message));
        expect((await answered(() => service.status(id))).body.task.status).toBe('approved');
      });
    } finally {
      await endings.stop();
    }
    expect(ended).toBeGreaterThan(5);
    await eachWasOpenedAndApprovedOnce(count);
  }, 600_000);

  it('counts each vote once while its queries fail at random, some of them after they took effect', async () => {
    const count = times(40, 500);
    const shaky = unreliable(service.database.pool, { before: 0.05, after: 0.1 });
    const store = createAccessRequestStore(shaky.pool);
    await inParallel(count, 8, async () => {
      const request = await service.open();
      const vote = newVote(request);
      expect(['counted', 'repeated']).toContain(await repeated(() => store.castVote(vote)));
      expect(
        await repeated(() =>
          store.cancel(request.id, { clientId: 'mcp-gateway', note: { by: { client: 'mcp-gateway' } } }),
        ),
      ).toBe('final');
      expect((await repeated(() => store.find(request.id)))?.status).toBe('approved');
    });
    expect(shaky.failures()).toBeGreaterThan(5);
    await eachWasOpenedAndApprovedOnce(count);
  }, 600_000);
});
