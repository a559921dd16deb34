import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createAccessRequestStore } from '../../../apps/approvals/stores/access-request.store.ts';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import { openBundle, type BundleItem } from '../../support/bundles.ts';

const URN = 'urn:openid:authzen:access-request:error:';
const DAY = 86_400_000;
const HOUR = 3_600_000;

describe('an ended access request', () => {
  const service = new ApprovalsUnderTest();
  beforeAll(() => service.start({ approvals: { requestTtlSeconds: 3_600, retentionSeconds: 2 * 86_400, bulk: {} } }));
  afterAll(() => service.stop());

  /** Moves all times of the request into the past by this much. */
  const age = (id: string, ms: number) =>
    service.database.pool.query(
      `ALTER TABLE approvals.access_request DISABLE TRIGGER USER; UPDATE approvals.access_request SET
       created_at = created_at - interval '${ms} ms', expires_at = expires_at - interval '${ms} ms',
       ended_at = ended_at - interval '${ms} ms', approved_at = approved_at - interval '${ms} ms',
       approved_until = approved_until - interval '${ms} ms' WHERE id = '${id}';
       ALTER TABLE approvals.access_request ENABLE TRIGGER USER`,
    );
  const forget = () => createAccessRequestStore(service.database.pool).forgetEnded(1_000);
  const ended = async () => {
    const body = await service.submission();
    const key = crypto.randomUUID();
    const { id } = (await service.submit(body, { 'idempotency-key': key })).body.task as { id: string };
    await service.vote('alice', { id, callDigest: body.context.call_digest }, 'approve');
    return { id, again: () => service.submit(body, { 'idempotency-key': key }) };
  };
  const told = async (id: string) => {
    const { status, body } = await service.status(id);
    return [status, body.type ?? body.task.status];
  };

  it('can be read during retention, then is expired, then unknown [ARAP-STS-18] [ARAP-STS-19] [ARAP-ERR-07] [ARAP-APV-08]', async () => {
    const { id } = await ended();
    await age(id, 2 * DAY - HOUR);
    await forget();
    expect(await told(id)).toEqual([200, 'approved']);
    await age(id, HOUR);
    await forget();
    expect(await told(id)).toEqual([410, `${URN}task_expired`]);
    const cancelled = await service.asGateway(`/access/v1/requests/${id}/cancel`, { method: 'POST' });
    expect([cancelled.status, cancelled.body.type]).toEqual([410, `${URN}task_expired`]);
    await age(id, DAY);
    await forget();
    expect(await told(id)).toEqual([404, `${URN}unknown_task`]);
    const { rows } = await service.database.pool.query('SELECT FROM approvals.vote WHERE access_request_id = $1', [id]);
    expect(rows).toHaveLength(0);
  });

  it('keeps its idempotency key for exactly one more day [ARAP-IDM-03] [ARAP-IDM-06] [ARAP-IDM-07] [ARAP-IDM-09]', async () => {
    const { id, again } = await ended();
    await age(id, DAY - HOUR);
    await forget();
    const repeated = await again();
    expect([repeated.status, repeated.body.task?.id]).toEqual([201, id]);
    await age(id, HOUR);
    await forget();
    // The key is free, but the denial stays used.
    expect((await again()).body.type).toBe(`${URN}invalid_denial_binding`);
    expect(await told(id)).toEqual([200, 'approved']);
  });

  it('is not deleted while it is open, however old it is', async () => {
    const { id } = await service.open();
    await service.database.pool.query(
      `ALTER TABLE approvals.access_request DISABLE TRIGGER USER; UPDATE approvals.access_request SET
       created_at = created_at - interval '90 days' WHERE id = '${id}'; ALTER TABLE approvals.access_request ENABLE TRIGGER USER`,
    );
    await forget();
    expect(await told(id)).toEqual([200, 'pending']);
  });

  it('is kept as long as its approval is valid [ARAP-STS-18]', async () => {
    const { id } = await ended();
    await age(id, 4 * DAY);
    await service.database.pool.query(
      `ALTER TABLE approvals.access_request DISABLE TRIGGER USER; UPDATE approvals.access_request SET
       approved_until = clock_timestamp() + interval '1 hour' WHERE id = '${id}'; ALTER TABLE approvals.access_request ENABLE TRIGGER USER`,
    );
    await forget();
    expect(await told(id)).toEqual([200, 'approved']);
  });

  it('is deleted with its votes and revocation, and they are not deleted without it', async () => {
    const { id } = await ended();
    await service.asPerson('alice', `/requests/${id}/revoke`, { method: 'POST', body: '{}' });
    await age(id, 4 * DAY);
    await forget();
    const { rows } = await service.database.pool.query(
      'SELECT FROM approvals.revocation WHERE access_request_id = $1',
      [id],
    );
    expect(rows).toHaveLength(0);
    const other = await ended();
    const remove = 'DELETE FROM approvals.vote WHERE access_request_id = $1';
    await expect(service.database.pool.query(remove, [other.id])).rejects.toThrow('are never changed');
  });

  it('is deleted together with its whole bundle and the key, or not at all [ARAP-IDM-06] [ARAP-STS-18]', async () => {
    const bundle = await openBundle(service, 2);
    const [first, second] = bundle.items as [BundleItem, BundleItem];
    await service.vote('alice', first, 'approve');
    await age(first.id, 9 * DAY);
    await forget();
    const kept = await bundle.again();
    expect([kept.status, kept.body.task?.id]).toEqual([202, bundle.id]);
    expect(kept.body.task.items.map(({ status }: { status: string }) => status)).toEqual(['approved', 'pending']);
    await service.vote('alice', second, 'deny');
    await age(second.id, 2 * DAY);
    await forget();
    expect(await told(bundle.id)).toEqual([410, `${URN}task_expired`]);
    expect((await bundle.again()).body.type).toBe(`${URN}invalid_denial_binding`);
    await age(second.id, DAY);
    await forget();
    expect(await told(bundle.id)).toEqual([404, `${URN}unknown_task`]);
    const left =
      'SELECT id FROM approvals.access_request WHERE bundle_id = $1 UNION SELECT id FROM approvals.bundle WHERE id = $1';
    expect((await service.database.pool.query(left, [bundle.id])).rows).toEqual([]);
  });

  it('asks for a later poll while it is open [ARAP-STS-12]', async () => {
    const { id } = await service.open();
    const open = await service.status(id);
    expect(Number(open.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(open.body.task).toMatchObject({
      id,
      status: 'pending',
      progress: { current_step: 1 },
      links: { cancel: expect.any(String) },
    });
    expect((await service.status((await ended()).id)).headers.get('retry-after')).toBeNull();
  });
});
