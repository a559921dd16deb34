import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import { wordsOf } from '../../support/pages.ts';
import { waitFor } from '../../support/wait-for.ts';

const URN = 'urn:openid:authzen:access-request:error:';

describe('the resolution of an access request', () => {
  const service = new ApprovalsUnderTest();
  const people = [
    { name: 'alice', roles: ['approver'] },
    { name: 'uma', roles: ['approver', 'auditor'] },
  ];
  beforeAll(() => service.start({ identity: { people } }));
  afterAll(() => service.stop());

  const statusOf = async (id: string) => (await service.status(id)).body.task.status as string;
  const cancel = (id: string) => service.asGateway(`/access/v1/requests/${id}/cancel`, { method: 'POST' });
  const pass = (id: string) =>
    service.database.pool.query(
      `ALTER TABLE approvals.access_request DISABLE TRIGGER USER; UPDATE approvals.access_request
       SET expires_at = clock_timestamp() - interval '1 ms' WHERE id = '${id}'; ALTER TABLE approvals.access_request
       ENABLE TRIGGER USER`,
    );

  it('grants with an approval that the PDP can verify and that is the same at every read [ARAP-STS-01, ARAP-STS-02, ARAP-REV-18, ARAP-CPL-01, ARAP-CPL-04, ARAP-CMP-01, ARAP-CMP-03, ARAP-CMP-04, ARAP-CMP-05, ARAP-CMP-06, ARAP-CMP-10, ARAP-CMP-11, ARAP-CMP-12, ARAP-CMP-15, ARAP-SCP-04, PRJ-05]', async () => {
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
    expect(lasts).toBeGreaterThan(3_540_000);
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

  it('never shows a private key [ARAP-DIS-07]', async () => {
    const { body } = await service.fetch('/access/v1/jwks');
    expect(Object.keys(body.keys[0]).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']);
  });

  it('denies with a single denial, and shows no details of it [ARAP-STS-16, ARAP-STS-02]', async () => {
    const request = await service.open();
    await service.vote('alice', request, 'deny', { reason: 'no' });
    const { body } = await service.status(request.id);
    expect([body.task.status, body.result]).toEqual(['denied', undefined]);
  });

  it('can be cancelled once by the client [ARAP-STS-02, ARAP-CAN-03, ARAP-CAN-05, ARAP-CAN-06, ARAP-ERR-08, ARAP-STS-04]', async () => {
    const request = await service.open();
    const first = await cancel(request.id);
    expect([first.status, first.body.task.status]).toEqual([200, 'cancelled']);
    const second = await cancel(request.id);
    expect([second.status, second.body.type]).toEqual([409, `${URN}invalid_task_state`]);
    expect((await service.vote('alice', request, 'approve')).status).toBe(409);
    expect(await statusOf(request.id)).toBe('cancelled');
  });

  it('expires before it is shown, voted on or cancelled [ARAP-STS-05]', async () => {
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

  it('expires and tells the gateway without any read [ARAP-STS-02, ARAP-STS-05, ARAP-CMP-16, PRJ-14]', async () => {
    const request = await service.open();
    await pass(request.id);
    await waitFor(() => service.callbacks.some(({ body }) => body.includes(request.id) && body.includes('"expired"')));
  });

  it('gives an unknown task and a malformed id the same answer', async () => {
    for (const id of ['arq_AAAAAAAAAAAAAAAAAAAAAA', 'x', '%00', '..%2f']) {
      for (const answer of [await service.status(id), await cancel(id)]) {
        expect([answer.status, answer.body.type]).toEqual([404, `${URN}unknown_task`]);
      }
    }
  });

  it('requires the credential of the enforcement point [ARAP-ATH-02, ARAP-SEC-04, ARAP-STS-17]', async () => {
    const { id } = await service.open();
    for (const authorization of ['Bearer wrong', `Bearer ${await service.token('alice')}`]) {
      expect((await service.fetch(`/access/v1/requests/${id}`, { headers: { authorization } })).status).toBe(401);
    }
    expect((await service.asGateway('/access/v1/requests')).status).toBe(405);
  });

  it('fails when approval comes after the requested end of access [ARAP-STS-02]', async () => {
    const requested_until = new Date(Date.now() + 400).toISOString();
    const request = await service.open({ body: { requested_access: { requested_until } } });
    await waitFor(() => Date.now() > Date.parse(requested_until) + 50);
    await service.vote('alice', request, 'approve');
    expect(await statusOf(request.id)).toBe('failed');
  });

  it('grants for no longer than the client asked [ARAP-SUB-15]', async () => {
    const until = new Date((Math.floor(Date.now() / 1_000) + 600) * 1_000).toISOString();
    const request = await service.open({ body: { requested_access: { requested_until: until } } });
    await service.vote('alice', request, 'approve');
    expect((await service.status(request.id)).body.result.approval.approved_until).toBe(until);
  });

  describe('on the page of the request', () => {
    const afterwards = async (name: string, { id }: { id: string }) => {
      const page = await (await (await service.signIn(name)).go(`/requests/${id}`)).text();
      return /<section class="card" aria-labelledby="after">.*?<\/section>/s.exec(page)?.[0] ?? '';
    };
    const end = (id: string) =>
      service.database.pool.query(
        `ALTER TABLE approvals.access_request DISABLE TRIGGER USER; UPDATE approvals.access_request
         SET approved_until = clock_timestamp() - interval '1 ms', approved_at = approved_at - interval '1 day' WHERE id = '${id}';
         ALTER TABLE approvals.access_request ENABLE TRIGGER USER`,
      );

    it('is said whether the gateway fetched the approval, and when, and nothing of the result', async () => {
      const request = await service.open();
      expect(await afterwards('alice', request)).toBe('');
      await service.vote('alice', request, 'approve');
      expect(wordsOf(await afterwards('alice', request))).toMatch(/The gateway has not fetched the approval yet\.$/);
      const before = Date.now();
      await service.status(request.id);
      expect(wordsOf(await afterwards('alice', request))).toMatch(
        /The gateway fetched the approval at \d+ \w+ \d{4}, \d\d:\d\d UTC\. The call runs if policy still allows it\.Approvers are not told the result\.$/,
      );
      const { body } = await service.asPerson('alice', `/requests/${request.id}`);
      expect(Date.parse(body.request.approvalFetchedAt)).toBeGreaterThan(before - 60_000);
      await service.status(request.id);
      const again = await service.asPerson('alice', `/requests/${request.id}`);
      expect(again.body.request.approvalFetchedAt).toBe(body.request.approvalFetchedAt);
      await end(request.id);
      expect(wordsOf(await afterwards('alice', request))).toContain('nothing starts on it any more');
    });

    it('is said that an approval was not fetched while it was valid, also if it was later', async () => {
      const request = await service.open();
      await service.vote('alice', request, 'approve');
      await end(request.id);
      const said = 'The gateway did not fetch the approval while it was valid. The call does not run on it.';
      expect(wordsOf(await afterwards('alice', request))).toContain(said);
      await service.status(request.id);
      expect(wordsOf(await afterwards('alice', request))).toContain(said);
    });

    it('leads a person who is an auditor, and no other, to the record of the call', async () => {
      const request = await service.open();
      await service.vote('alice', request, 'deny');
      expect(await afterwards('alice', request)).toBe('');
      const [row] = (
        await service.database.pool.query('SELECT evaluation_id FROM approvals.access_request WHERE id = $1', [
          request.id,
        ])
      ).rows;
      expect(await afterwards('uma', request)).toContain(
        `href="${service.config.urls.audit}/outcome-records/by-decision/${row.evaluation_id}"`,
      );
    });
  });

  it('keeps the request, the votes and the end unchanged [ARAP-STS-04, ARAP-CMP-17]', async () => {
    const request = await service.open();
    await service.vote('alice', request, 'deny');
    for (const statement of [
      "UPDATE approvals.access_request SET context = '{}' WHERE id = $1",
      "UPDATE approvals.access_request SET status = 'approved' WHERE id = $1",
      "UPDATE approvals.access_request SET approval_state = 'forged' WHERE id = $1",
      'UPDATE approvals.access_request SET approval_fetched_at = clock_timestamp() WHERE id = $1',
      "UPDATE approvals.vote SET verdict = 'approve' WHERE access_request_id = $1",
      'DELETE FROM approvals.vote WHERE access_request_id = $1',
    ]) {
      await expect(service.database.pool.query(statement, [request.id])).rejects.toThrow();
    }
  });
});
