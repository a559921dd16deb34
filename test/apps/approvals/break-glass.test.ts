import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { decodeJwt } from 'jose';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import { csrfTokenIn } from '../../support/pages.ts';

const people = ['alice', 'bob', 'sam', 'sue'].map((name) => ({ name, roles: ['approver'] }));
const templates = {
  four_eyes: { stages: [{ name: 'two', approvers: { roles: ['approver'] }, quorum: 2 }] },
};

describe('break-glass', () => {
  const service = new ApprovalsUnderTest();
  beforeAll(() =>
    service.start({
      approvals: {
        templates,
        breakGlass: { enabled: true, approvers: { people: ['sam', 'sue'] }, approvalTtlSeconds: 600 },
      },
      identity: { people: [...people, { name: 'agent', roles: ['agent'] }] },
    }),
  );
  afterAll(() => service.stop());

  const open = (subject = 'agent') =>
    service.open({
      subject,
      claims: { template: 'four_eyes' },
      body: { requested_access: { emergency: true } },
    });
  type Opened = Awaited<ReturnType<typeof open>>;
  const post = (name: string, path: string, body: object = {}) =>
    service.asPerson(name, path, { method: 'POST', body: JSON.stringify(body) });
  const breakGlass = (name: string, { id, callDigest }: Opened, reason = 'the disk is full', more: object = {}) =>
    post(name, `/requests/${id}/break-glass`, { reason, callDigest, ...more });
  const review = (name: string, { id }: Opened, note?: string) => post(name, `/requests/${id}/review`, { note });
  const shown = async (name: string, { id }: Opened) => (await service.asPerson(name, `/requests/${id}`)).body.request;
  const statusOf = async ({ id }: Opened) => (await service.status(id)).body.task.status as string;
  const unreviewed = async () =>
    ((await service.asPerson('bob', '/requests')).body.unreviewed as { requestId: string }[]).map(
      (one) => one.requestId,
    );

  it('does not skip approval for a request that says it is an emergency [ARAP-SUB-16]', async () => {
    const request = await open();
    expect((await service.vote('alice', request, 'approve')).status).toBe(200);
    expect(await statusOf(request)).toBe('pending');
  });

  it('grants at once for a short time, raises an alarm, and waits for a review by a second person [ARAP-APV-04]', async () => {
    const request = await open();
    expect((await shown('sam', request)).mayBreakGlass).toBe(true);
    expect((await breakGlass('sam', request)).status).toBe(200);
    expect((await breakGlass('sam', request)).status).toBe(200);
    expect((await breakGlass('sue', request)).status).toBe(409);
    const { body } = await service.status(request.id);
    expect(body.task.status).toBe('approved');
    const { approved_at: from, approved_until: until } = body.result.approval;
    expect(Date.parse(until) - Date.parse(from)).toBeLessThanOrEqual(600_000);
    const { state } = body.result.approval;
    const readable = JSON.stringify(body).replace(state, JSON.stringify(decodeJwt(state)));
    expect(readable).not.toMatch(/\b(sam|disk)\b/);
    const alarm = service.log.split('\n').find((line) => line.includes('"alarm":"break_glass"')) ?? '';
    expect(alarm).toContain(request.id);
    expect(alarm).not.toMatch(/\b(sam|disk)\b/);

    expect((await shown('bob', request)).breakGlass).toMatchObject({ grantedBy: 'sam', reason: 'the disk is full' });
    expect(await unreviewed()).toContain(request.id);
    expect((await review('sam', request)).status).toBe(403);
    expect((await review('bob', request, 'it was')).status).toBe(200);
    expect((await review('alice', request)).status).toBe(409);
    expect((await shown('alice', request)).breakGlass.review).toMatchObject({ by: 'bob', note: 'it was' });
    expect(await unreviewed()).not.toContain(request.id);
  });

  it('is not available to other approvers, to requesters or to their delegates [ARAP-APV-01]', async () => {
    const request = await open();
    expect((await shown('alice', request)).mayBreakGlass).toBe(false);
    expect((await breakGlass('alice', request)).status).toBe(403);
    const own = await open('sam');
    expect((await breakGlass('sam', own)).body.title).toBe('You requested this yourself');
    const until = new Date(Date.now() + 3_600_000).toISOString();
    expect((await post('sam', '/delegations', { delegate: 'sue', until })).status).toBe(201);
    expect((await breakGlass('sue', own)).body.title).toBe('You stand in for a person who requested this');
    for (const one of [request, own]) expect(await statusOf(one)).toBe('pending');
    // Their delegate cannot review it either.
    expect((await breakGlass('sam', request)).status).toBe(200);
    expect((await review('sue', request)).status).toBe(403);
    expect((await review('bob', request)).status).toBe(200);
  });

  it.each([
    ['no reason', ' \n ', {}, 400],
    ['another call', 'x', { callDigest: `sha-256:${'0'.repeat(64)}` }, 409],
    ['another generation', 'x', { generation: 2 }, 409],
  ])('grants nothing with %s', async (_name, reason, more, status) => {
    const request = await open();
    expect((await breakGlass('sam', request, reason, more)).status).toBe(status);
    expect(await statusOf(request)).toBe('pending');
  });

  it('grants no ended request, and reviews only break-glass grants', async () => {
    const request = await open();
    await service.vote('alice', request, 'deny');
    expect((await breakGlass('sam', request)).status).toBe(409);
    expect((await review('bob', request)).status).toBe(404);
    expect(await statusOf(request)).toBe('denied');
  });

  it('stays unchanged and needs a second reviewer, also for programs that write to the database', async () => {
    const request = await open();
    await breakGlass('sam', request);
    for (const [change, code] of [
      [`reason = 'another'`, 'CS002'],
      [`reviewed_by = 'sam', reviewed_at = now()`, '23514'],
    ] as const) {
      const statement = `UPDATE approvals.break_glass SET ${change} WHERE access_request_id = $1`;
      await expect(service.database.pool.query(statement, [request.id])).rejects.toMatchObject({ code });
    }
  });

  it('is granted and reviewed in a browser', async () => {
    const request = await open();
    const sam = await service.signIn('sam');
    const page = await (await sam.go(`/requests/${request.id}`)).text();
    expect(page).toContain('Grant without the approvers');
    const form = { reason: 'no time', callDigest: request.callDigest, csrfToken: csrfTokenIn(page) };
    expect((await sam.go(`/requests/${request.id}/break-glass`, { ...form, csrfToken: 'forged' })).status).toBe(403);
    expect(await statusOf(request)).toBe('pending');
    expect((await sam.go(`/requests/${request.id}/break-glass`, form)).status).toBe(303);
    const after = await (await sam.go(`/requests/${request.id}`)).text();
    expect(after).toContain('Granted in an emergency by');
    expect(after).not.toContain('Mark as reviewed');
    const bob = await service.signIn('bob');
    expect(await (await bob.go('/requests?status=yours')).text()).toContain('need a review');
    const bobs = await (await bob.go(`/requests/${request.id}`)).text();
    expect((await bob.go(`/requests/${request.id}/review`, { note: '', csrfToken: csrfTokenIn(bobs) })).status).toBe(
      303,
    );
    expect(await (await bob.go(`/requests/${request.id}`)).text()).toContain('Reviewed by');
  });
});

describe('break-glass that is switched off', () => {
  const service = new ApprovalsUnderTest();
  beforeAll(() => service.start({ approvals: { breakGlass: { approvers: { roles: ['approver'] } } } }));
  afterAll(() => service.stop());

  it('is available to no person [ARAP-APV-02]', async () => {
    const request = await service.open();
    const body = JSON.stringify({ reason: 'please', callDigest: request.callDigest });
    const path = `/requests/${request.id}/break-glass`;
    expect((await service.asPerson('alice', path, { method: 'POST', body })).status).toBe(403);
    expect((await service.status(request.id)).body.task.status).toBe('pending');
  });
});
