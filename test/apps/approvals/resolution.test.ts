import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import { resolutionOf } from '../../../workflows/domain/access-request/resolution.ts';
import type { Verdict } from '../../../workflows/domain/access-request/access-request.ts';
import { createAccessRequestStore } from '../../../apps/approvals/stores/access-request.store.ts';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import { postSigned } from '../../support/decisions.ts';
import { waitFor } from '../../support/wait-for.ts';

const URN = 'urn:openid:authzen:access-request:error:';

describe('resolution of an access request', () => {
  const service = new ApprovalsUnderTest();
  beforeAll(() => service.start());
  afterAll(() => service.stop());

  const statusOf = async (id: string) => (await service.status(id)).body.task.status as string;
  const cancel = (id: string) => service.asGateway(`/access/v1/requests/${id}/cancel`, { method: 'POST' });
  const pass = (id: string) =>
    service.database.pool.query(
      `ALTER TABLE approvals.access_request DISABLE TRIGGER USER; UPDATE approvals.access_request
       SET expires_at = clock_timestamp() - interval '1 ms' WHERE id = '${id}'; ALTER TABLE approvals.access_request
       ENABLE TRIGGER USER`,
    );
  const verdictByWebhook = (subject: string, request: { id: string; callDigest: string }, verdict: Verdict) => {
    const { id: requestId, callDigest } = request;
    const body = JSON.stringify({ requestId, generation: 1, callDigest, approver: { subject }, verdict });
    const id = `msg_${crypto.randomUUID()}`;
    return postSigned(`${service.url}/webhooks/decisions`, body, { id, secret: service.secrets.decisionWebhookSecret });
  };

  it('grants with an approval that the PDP can verify, the same at every read', async () => {
    const request = await service.open();
    expect((await service.vote('alice', request, 'approve', { reason: 'fine' })).status).toBe(200);
    const [first, second] = await Promise.all([service.status(request.id), service.status(request.id)]);
    expect(first?.body).toEqual(second?.body);
    const { task, result } = first?.body ?? {};
    expect(task.status).toBe('approved');
    expect(task.links.cancel).toBeUndefined();
    expect(result.mode).toBe('reevaluate');
    expect(result.approval.id).toMatch(/^apr_[A-Za-z0-9_-]{22}$/);
    const lasts = Date.parse(result.approval.approved_until) - Date.parse(result.approval.approved_at);
    expect(lasts).toBeGreaterThan(3_598_000);
    expect(lasts).toBeLessThanOrEqual(3_600_000);
    expect(JSON.stringify(first?.body)).not.toMatch(/alice|fine/);

    const keys = createLocalJWKSet((await service.fetch('/access/v1/jwks')).body);
    const { payload } = await jwtVerify(result.approval.state, keys, {
      issuer: service.config.urls.accessRequests,
      audience: service.config.urls.pdp,
    });
    expect(decodeProtectedHeader(result.approval.state)).toEqual({
      alg: 'ES256',
      kid: service.secrets.accessRequestSigningKey.kid,
      typ: 'JWT',
    });
    expect(payload).toMatchObject({
      approval_id: result.approval.id,
      task_id: request.id,
      requester: 'mcp-gateway',
      scope: 'exact',
      template: 'operator_approval',
      binding_context_members: ['agent', 'arguments', 'call_digest'],
      exp: Date.parse(result.approval.approved_until) / 1_000,
    });
    expect(payload['binding_hash']).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(payload['evaluation_id']).toMatch(/^eval_/);
    expect(payload.jti).toBeTruthy();
  });

  it('shows the private half of no key', async () => {
    const { body } = await service.fetch('/access/v1/jwks');
    expect(Object.keys(body.keys[0]).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']);
  });

  it('denies with one denial, and tells no more than that', async () => {
    const request = await service.open();
    await service.vote('alice', request, 'deny', { reason: 'no' });
    const { body } = await service.status(request.id);
    expect([body.task.status, body.result]).toEqual(['denied', undefined]);
  });

  it('is cancelled by the side that asked, once', async () => {
    const request = await service.open();
    const first = await cancel(request.id);
    expect([first.status, first.body.task.status]).toEqual([200, 'cancelled']);
    const second = await cancel(request.id);
    expect([second.status, second.body.type]).toEqual([409, `${URN}invalid_task_state`]);
    expect((await service.vote('alice', request, 'approve')).status).toBe(409);
    expect(await statusOf(request.id)).toBe('cancelled');
  });

  it('is expired before it is shown, voted on or cancelled', async () => {
    for (const look of [
      (r: { id: string; callDigest: string }) => service.status(r.id),
      (r: { id: string; callDigest: string }) => service.vote('alice', r, 'approve'),
      (r: { id: string; callDigest: string }) => cancel(r.id),
      () => service.asPerson('alice', '/requests'),
    ]) {
      const request = await service.open();
      await pass(request.id);
      await look(request);
      const { rows } = await service.database.pool.query('SELECT status FROM approvals.access_request WHERE id = $1', [
        request.id,
      ]);
      expect(rows[0].status).toBe('expired');
    }
  });

  it('is expired, and its gateway told, when nobody looks', async () => {
    const request = await service.open();
    await pass(request.id);
    await waitFor(() => service.callbacks.some(({ body }) => body.includes(request.id) && body.includes('"expired"')));
  });

  it('answers an unknown task and a malformed id alike', async () => {
    for (const id of ['arq_AAAAAAAAAAAAAAAAAAAAAA', 'x', '%00', '..%2f']) {
      for (const answer of [await service.status(id), await cancel(id)]) {
        expect([answer.status, answer.body.type]).toEqual([404, `${URN}unknown_task`]);
      }
    }
  });

  it('shows nothing without the credential of the enforcement point', async () => {
    const { id } = await service.open();
    for (const authorization of ['Bearer wrong', `Bearer ${await service.token('alice')}`]) {
      expect((await service.fetch(`/access/v1/requests/${id}`, { headers: { authorization } })).status).toBe(401);
    }
    expect((await service.asGateway('/access/v1/requests')).status).toBe(405);
  });

  it('has one winner of approve, deny and cancel, 60 times', async () => {
    const rounds = Array.from({ length: 60 }, async () => {
      const request = await service.open();
      const outcomes = await Promise.all([
        service.vote('alice', request, 'approve'),
        verdictByWebhook('bob', request, 'deny'),
        cancel(request.id),
      ]);
      expect(outcomes.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
      const winner = ['approved', 'denied', 'cancelled'][outcomes.findIndex(({ status }) => status === 200)];
      expect(await statusOf(request.id)).toBe(winner);
      return winner;
    });
    expect((await Promise.all(rounds)).length).toBe(60);
    const { rows } = await service.database.pool.query(
      `SELECT count(*)::int AS n FROM approvals.vote v JOIN approvals.access_request r ON r.id = v.access_request_id
       WHERE (r.status = 'cancelled') OR (v.verdict = 'approve') <> (r.status = 'approved')`,
    );
    expect(rows[0].n).toBe(0);
  });

  it('counts an approver once, whichever ways they come', async () => {
    const request = await service.open();
    const answers = await Promise.all([
      ...Array.from({ length: 4 }, () => service.vote('alice', request, 'approve')),
      verdictByWebhook('alice', request, 'approve'),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    const changed = await service.vote('alice', request, 'deny');
    expect([changed.status, changed.body.title]).toEqual([409, 'You have decided this already']);
    const { rows } = await service.database.pool.query(
      'SELECT count(*)::int AS n FROM approvals.vote WHERE access_request_id = $1',
      [request.id],
    );
    expect(rows[0].n).toBe(1);
  });

  it('refuses a vote on another call or generation than was looked at', async () => {
    const request = await service.open();
    const other = { ...request, callDigest: `sha-256:${'0'.repeat(64)}` };
    expect((await service.vote('alice', other, 'approve')).status).toBe(409);
    expect((await service.vote('alice', request, 'approve', { generation: 2 })).status).toBe(409);
    expect(await statusOf(request.id)).toBe('pending');
  });

  it('lets nobody decide what they or their agent asked for, by any way', async () => {
    const own = await service.open({ subject: 'bob', agent: 'some-agent' });
    const agents = await service.open({ subject: 'somebody', agent: 'bob' });
    for (const request of [own, agents]) {
      const byApi = await service.vote('bob', request, 'approve');
      expect([byApi.status, byApi.body.title]).toEqual([403, 'You asked for this yourself']);
      expect((await verdictByWebhook('bob', request, 'approve')).status).toBe(403);
      const browser = await service.signIn('bob');
      const csrfToken =
        /name="csrfToken" value="([^"]+)"/.exec(await (await browser.go('/requests')).text())?.[1] ?? '';
      const form = { verdict: 'approve', callDigest: request.callDigest, generation: '1', csrfToken };
      expect((await browser.go(`/requests/${request.id}/votes`, form)).status).toBe(403);
      // The database has the rule of its own.
      const store = createAccessRequestStore(service.database.pool);
      const vote = {
        requestId: request.id,
        generation: 1,
        callDigest: request.callDigest,
        approver: { issuer: 'https://another-issuer.test', subject: 'bob' },
        verdict: 'approve',
        reason: undefined,
        via: 'api',
        approvalId: 'apr_x',
        approvalTtlMs: 1_000,
      } as const;
      expect(await store.castVote(vote)).toBe('own_request');
      expect(await statusOf(request.id)).toBe('pending');
    }
    expect(service.log).toContain('"outcome":"own_request"');
  });

  it('ends as failed when approval comes after access was wanted', async () => {
    const requested_until = new Date(Date.now() + 400).toISOString();
    const request = await service.open({ body: { requested_access: { requested_until } } });
    await waitFor(() => Date.now() > Date.parse(requested_until) + 50);
    await service.vote('alice', request, 'approve');
    expect(await statusOf(request.id)).toBe('failed');
  });

  it('grants no longer than was asked for', async () => {
    const until = new Date((Math.floor(Date.now() / 1_000) + 60) * 1_000).toISOString();
    const request = await service.open({ body: { requested_access: { requested_until: until } } });
    await service.vote('alice', request, 'approve');
    expect((await service.status(request.id)).body.result.approval.approved_until).toBe(until);
  });

  it('makes of votes what the domain makes of them, with any quorum', async () => {
    const store = createAccessRequestStore(service.database.pool);
    const people = ['a', 'b', 'a', 'c', 'd'];
    for (const quorum of [1, 2, 3]) {
      for (const pattern of ['aaaaa', 'aadaa', 'daaaa', 'aaada']) {
        const request = await service.open();
        await service.database.pool.query(
          `ALTER TABLE approvals.access_request DISABLE TRIGGER USER; UPDATE approvals.access_request SET quorum =
           ${quorum} WHERE id = '${request.id}'; ALTER TABLE approvals.access_request ENABLE TRIGGER USER`,
        );
        for (const [i, subject] of people.entries()) {
          await store.castVote({
            requestId: request.id,
            generation: 1,
            callDigest: request.callDigest,
            approver: { issuer: 'https://idp.test', subject },
            verdict: pattern[i] === 'a' ? 'approve' : 'deny',
            reason: undefined,
            via: 'api',
            approvalId: `apr_${crypto.randomUUID()}`,
            approvalTtlMs: 60_000,
          });
          const now = await store.find(request.id);
          const expected = { granted: 'approved', denied: 'denied' } as const;
          const resolution = resolutionOf(now?.votes ?? [], quorum);
          expect(now?.status).toBe(resolution === undefined ? 'pending' : expected[resolution]);
        }
      }
    }
  });

  it('keeps what was asked, what was voted and how it ended as they are', async () => {
    const request = await service.open();
    await service.vote('alice', request, 'deny');
    for (const statement of [
      "UPDATE approvals.access_request SET context = '{}' WHERE id = $1",
      "UPDATE approvals.access_request SET status = 'approved' WHERE id = $1",
      "UPDATE approvals.access_request SET approval_state = 'forged' WHERE id = $1",
      "UPDATE approvals.vote SET verdict = 'approve' WHERE access_request_id = $1",
      'DELETE FROM approvals.vote WHERE access_request_id = $1',
    ]) {
      await expect(service.database.pool.query(statement, [request.id])).rejects.toThrow();
    }
  });
});
