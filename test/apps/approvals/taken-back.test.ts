import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import { ofPerson } from '../../support/submissions.ts';

const URN = 'urn:openid:authzen:access-request:error:';

describe('cancellation and revocation', () => {
  const service = new ApprovalsUnderTest();
  beforeAll(() => service.start());
  afterAll(() => service.stop());

  const cancel = (id: string, init: RequestInit = {}) =>
    service.asGateway(`/access/v1/requests/${id}/cancel`, { method: 'POST', ...init });
  const takeBack = (name: string, what: 'cancel' | 'revoke', id: string, body: object = {}) =>
    service.asPerson(name, `/requests/${id}/${what}`, { method: 'POST', body: JSON.stringify(body) });
  const revoked = async () => decodeJwt((await service.fetch('/access/v1/revocations')).body as string)['revoked'];
  const approved = async () => {
    const request = await service.open();
    await service.vote('alice', request, 'approve');
    return { ...request, approvalId: (await service.status(request.id)).body.result.approval.id as string };
  };

  describe('by the client', () => {
    it.each<[string, RequestInit]>([
      ['without a body', {}],
      ['with an empty body', { body: '{}', headers: { 'content-type': 'application/json' } }],
      [
        'with reasons',
        { body: '{"reason":"caller_cancelled","x":1}', headers: { 'content-type': 'application/json' } },
      ],
      ['by DELETE', { method: 'DELETE' }],
    ])('ends a request %s [ARAP-CAN-03] [ARAP-CAN-04] [ARAP-CAN-05]', async (_name, init) => {
      const { id } = await service.open();
      const first = await cancel(id, init);
      expect([first.status, first.body.task.id, first.body.task.status]).toEqual([200, id, 'cancelled']);
      expect(first.body.task.links.cancel).toBeUndefined();
      const second = await cancel(id, init);
      expect([second.status, second.body.type]).toEqual([409, `${URN}invalid_task_state`]);
    });

    it.each<[string, RequestInit, number]>([
      ['an unknown reason', { body: '{"reason":1}' }, 400],
      ['a list', { body: '[]' }, 400],
      ['something other than JSON', { body: '{' }, 400],
      ['text', { body: 'x', headers: { 'content-type': 'text/plain' } }, 415],
      ['another method', { method: 'PUT', body: '{}' }, 405],
    ])('changes nothing with %s [PRJ-11]', async (_name, init, status) => {
      const { id } = await service.open();
      const answer = await cancel(id, { headers: { 'content-type': 'application/json' }, ...init });
      expect([answer.status, answer.body.type]).toEqual([status, 'about:blank']);
      expect((await service.status(id)).body.task.status).toBe('pending');
    });
  });

  describe('by a person', () => {
    it('ends an open request of theirs, and its client sees it cancelled [ARAP-CAN-12]', async () => {
      const { id } = await service.open(ofPerson(service.config.urls.issuer, { person: 'alice', agent: 'coder' }));
      const byApprover = await takeBack('bob', 'cancel', id);
      expect([byApprover.status, byApprover.body.title]).toEqual([403, 'Only the requester can cancel this request']);
      expect((await takeBack('alice', 'cancel', id, { reason: 'wrong account' })).status).toBe(200);
      expect((await service.status(id)).body.task.status).toBe('cancelled');
      expect((await takeBack('alice', 'cancel', id)).status).toBe(409);
      const { rows } = await service.database.pool.query(
        'SELECT end_note FROM approvals.access_request WHERE id = $1',
        [id],
      );
      expect(rows[0].end_note).toMatchObject({ by: { subject: 'alice' }, reason: 'wrong account' });
    });

    it('revokes an approval: it is listed at once, and the task keeps its status [ARAP-REV-10] [PRJ-38] [ARAP-STS-04]', async () => {
      const { id, approvalId } = await approved();
      const before = (await service.status(id)).body;
      expect(await revoked()).not.toContain(approvalId);
      expect((await takeBack('bob', 'revoke', id, { reason: 'too late' })).status).toBe(200);
      expect(await revoked()).toContain(approvalId);
      expect((await service.status(id)).body).toEqual(before);
      expect((await takeBack('alice', 'revoke', id)).status).toBe(200);
      const { revoked: shown } = (await service.asPerson('alice', `/requests/${id}`)).body.request;
      expect(shown).toMatchObject({ by: 'bob', reason: 'too late' });
    });

    it('cannot revoke an approval that was not given', async () => {
      const [open, denied] = [await service.open(), await service.open()];
      await service.vote('alice', denied, 'deny');
      for (const { id } of [open, denied]) expect((await takeBack('alice', 'revoke', id)).status).toBe(409);
      expect((await takeBack('alice', 'revoke', 'arq_none')).status).toBe(404);
      expect((await service.status(open.id)).body.task.status).toBe('pending');
    });

    it.each(['agent', 'olivia'])('is refused for %s, because only approvers may do it', async (name) => {
      const [open, given] = [await service.open(), await approved()];
      expect((await takeBack(name, 'cancel', open.id)).status).toBe(403);
      expect((await takeBack(name, 'revoke', given.id)).status).toBe(403);
      expect(await revoked()).not.toContain(given.approvalId);
    });

    it('is offered on the page, and other sites cannot send its form', async () => {
      const alice = await service.signIn('alice');
      const { id, approvalId } = await approved();
      const page = await (await alice.go(`/requests/${id}`)).text();
      const csrfToken = /name="csrfToken" value="([^"]*)"/.exec(page)?.[1] ?? '';
      expect(page).toContain('Revoke approval');
      expect((await alice.go(`/requests/${id}/revoke`, { reason: 'x' })).status).toBe(403);
      expect(await revoked()).not.toContain(approvalId);
      const answer = await alice.go(`/requests/${id}/revoke`, { csrfToken, reason: '<b>mistake</b>' });
      expect([answer.status, answer.headers.get('location')]).toEqual([303, `/requests/${id}`]);
      const after = await (await alice.go(`/requests/${id}`)).text();
      expect(after).toMatch(/alice.*revoked this approval/s);
      expect(after).toContain('&lt;b>mistake&lt;/b>');
      expect(after).not.toContain('Revoke approval');
    });

    it('keeps the record of a revocation unchanged', async () => {
      const { id } = await approved();
      await takeBack('alice', 'revoke', id);
      for (const statement of [
        'DELETE FROM approvals.revocation WHERE access_request_id = $1',
        "UPDATE approvals.revocation SET by_subject = 'bob' WHERE access_request_id = $1",
      ]) {
        await expect(service.database.pool.query(statement, [id])).rejects.toThrow('are never changed');
      }
    });
  });

  it('is published in a signed list that is not accepted as an approval [PRJ-38]', async () => {
    const answer = await service.fetch('/access/v1/revocations');
    expect(answer.headers.get('content-type')).toMatch(/^application\/revocations\+jwt/);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    const keys = createLocalJWKSet((await service.fetch('/access/v1/jwks')).body);
    const { payload } = await jwtVerify(answer.body as string, keys, {
      issuer: service.config.urls.accessRequests,
      currentDate: new Date((decodeJwt(answer.body as string).iat ?? 0) * 1_000),
    });
    expect(decodeProtectedHeader(answer.body as string).typ).toBe('revocations+jwt');
    expect(payload).not.toHaveProperty('aud');
    expect((payload.exp ?? 0) - (payload.iat ?? 0)).toBeLessThanOrEqual(30);
  });

  it('has one winner when many revoke at once', async () => {
    const { id } = await approved();
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, i) => takeBack(i % 2 ? 'alice' : 'bob', 'revoke', id)),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200));
    const { rows } = await service.database.pool.query(
      'SELECT FROM approvals.revocation WHERE access_request_id = $1',
      [id],
    );
    expect(rows).toHaveLength(1);
  });
});
