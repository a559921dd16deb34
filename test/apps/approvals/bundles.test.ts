import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { decodeJwt } from 'jose';
import { parseConfig } from '../../../apps/shared/config/config.ts';
import { boundParts } from '../../../workflows/domain/authzen/denial-binding.ts';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import {
  askerOf,
  aTransfer,
  bundleOf,
  bundleOfDenials,
  denying,
  openBundle,
  type BundleItem,
  type Item,
} from '../../support/bundles.ts';
import { hashOf } from '../../support/signed-denials.ts';
import { waitFor } from '../../support/wait-for.ts';

const URN = 'urn:openid:authzen:access-request:error:';
const [OTHER, NARROW, READER] = [1, 2, 3].map(() => randomBytes(32).toString('base64url')) as [string, string, string];

describe('a bundle', () => {
  const service = new ApprovalsUnderTest();
  const rights = ['submit', 'status', 'result', 'cancel'];
  beforeAll(() =>
    service.start({
      approvals: {
        bulk: {},
        clients: {
          other: { token: OTHER, rights },
          narrow: { token: NARROW, actsFor: 'mcp-gateway', rights, resources: ['acct-a*'] },
          reader: { token: READER, actsFor: 'mcp-gateway', rights: ['status'] },
        },
      },
    }),
  );
  afterAll(() => service.stop());

  const open = (n = 2, more: object = {}) => openBundle(service, n, more);
  const task = async (id: string) => (await service.status(id)).body.task;
  const statuses = async (id: string) => (await task(id)).items.map((item: { status: string }) => item.status);
  const cancel = (id: string, headers: Record<string, string> = {}) =>
    service.asGateway(`/access/v1/requests/${id}/cancel`, { method: 'POST', headers });
  const callback = (of: object = {}) => ({
    callback: { endpoint: `${service.config.urls.gateway}/callbacks/access-requests`, state: 's', ...of },
  });
  const received = (id: string) => service.callbacks.filter(({ body }) => body.includes(id));

  it('decides each item separately, shows each result, and has no result for the whole [ARAP-BLK-05] [ARAP-BLK-06] [ARAP-CPL-02] [ARAP-BLK-08]', async () => {
    const bundle = await open(3);
    const [first, second, third] = bundle.items as [BundleItem, BundleItem, BundleItem];
    await service.vote('alice', second, 'approve');
    expect(await statuses(bundle.id)).toEqual(['pending', 'approved', 'pending']);
    expect((await task(bundle.id)).status).toBe('pending');
    await service.vote('alice', first, 'deny');
    await service.vote('bob', third, 'approve');
    const { body } = await service.status(bundle.id);
    expect(Object.keys(body)).toEqual(['task']);
    expect(body.task).toMatchObject({ status: 'partial', links: {} });
    const result = (item: Item | undefined) => ({
      ...item,
      status: 'approved',
      result: {
        mode: 'reevaluate',
        approval: {
          id: expect.any(String),
          approved_at: expect.any(String),
          approved_until: expect.any(String),
          state: expect.any(String),
        },
      },
    });
    const [a, b, c] = bundle.submitted;
    expect(body.task.items).toEqual([{ ...a, status: 'denied' }, result(b), result(c)]);
    const ids = body.task.items.map((item: { result?: { approval: { id: string } } }) => item.result?.approval.id);
    expect(ids[1]).not.toBe(ids[2]);
    expect((await service.status(bundle.id)).body).toEqual(body);
    // A client that may read the status but no approvals sees no approval of an item either.
    const read = await service.fetch(`/access/v1/requests/${bundle.id}`, {
      headers: { authorization: `Bearer ${READER}` },
    });
    expect(read.body.task.items.map(Object.keys).flat()).not.toContain('result');
  });

  it('has approvals that are bound to one item and to its one task [ARAP-SCP-06] [PRJ-05]', async () => {
    const bundle = await open();
    for (const item of bundle.items) await service.vote('alice', item, 'approve');
    const shown = (await task(bundle.id)).items as { result: { approval: { state: string } } }[];
    const claims = shown.map(({ result }) => decodeJwt(result.approval.state));
    const bound = bundle.submitted.map((item) => hashOf(boundParts({ ...item, ...askerOf({}) }, ['agent'])));
    expect(claims.map(({ binding_hash }) => binding_hash)).toEqual(bound);
    expect(claims.map(({ task_id }) => task_id)).toEqual([bundle.id, bundle.id]);
  });

  it('takes the status of its items when they all ended alike, and answers a repetition as ended [ARAP-BLK-06]', async () => {
    const bundle = await open();
    for (const item of bundle.items) await service.vote('alice', item, 'approve');
    const again = await bundle.again();
    expect([again.status, again.body.task.id, again.body.task.status]).toEqual([201, bundle.id, 'approved']);
    expect(again.body).not.toHaveProperty('result');
  });

  it("is hidden under an item's id, from other clients, and from clients that may not access every item [ARAP-STS-14]", async () => {
    const bundle = await open();
    const unknown = [404, `${URN}unknown_task`];
    const answer = async (id: string, token = service.secrets.accessRequestToken) => {
      const { status, body } = await service.fetch(`/access/v1/requests/${id}`, {
        headers: { authorization: `Bearer ${token}` },
      });
      return [status, body.type];
    };
    expect(await answer(bundle.items[0]?.id ?? '')).toEqual(unknown);
    expect((await cancel(bundle.items[0]?.id ?? '')).status).toBe(404);
    expect(await answer(bundle.id, OTHER)).toEqual(unknown);
    expect((await cancel(bundle.id, { authorization: `Bearer ${OTHER}` })).status).toBe(404);
    expect(await answer(bundle.id, NARROW)).toEqual(unknown);
    expect(await answer(bundle.id)).toEqual([200, undefined]);
  });

  it('cancels only its open items, and cannot be cancelled when no item is open [ARAP-CAN-09] [ARAP-CAN-05] [ARAP-CAN-06]', async () => {
    const bundle = await open(3);
    const [first] = bundle.items as [BundleItem];
    await service.vote('alice', first, 'approve');
    const cancelled = await cancel(bundle.id);
    expect([cancelled.status, cancelled.body.task.status]).toEqual([200, 'partial']);
    expect(await statuses(bundle.id)).toEqual(['approved', 'cancelled', 'cancelled']);
    const again = await cancel(bundle.id);
    expect([again.status, again.body.type]).toEqual([409, `${URN}invalid_task_state`]);
    const untouched = await open();
    expect((await cancel(untouched.id)).body.task.status).toBe('cancelled');
  });

  it('keeps its other items open when the person who asks cancels one', async () => {
    const bundle = await open();
    const cancelOne = `SELECT approvals.cancel_access_request($1, NULL, '{}')`;
    await service.database.pool.query(cancelOne, [bundle.items[1]?.id]);
    expect(await statuses(bundle.id)).toEqual(['pending', 'cancelled']);
  });

  it('carries out its deadlines before it is shown', async () => {
    const bundle = await open();
    await service.database.pool.query(
      `ALTER TABLE approvals.access_request DISABLE TRIGGER USER; UPDATE approvals.access_request SET
       expires_at = clock_timestamp() WHERE id = '${bundle.items[0]?.id ?? ''}'; ALTER TABLE approvals.access_request ENABLE TRIGGER USER`,
    );
    expect(await statuses(bundle.id)).toEqual(['expired', 'pending']);
  });

  it('announces its end once, when the last item has ended [ARAP-CB-04] [ARAP-CB-05] [ARAP-CB-06]', async () => {
    const bundle = await open(3, callback());
    const [first, second, third] = bundle.items as [BundleItem, BundleItem, BundleItem];
    await service.vote('alice', first, 'approve');
    await service.vote('alice', second, 'deny');
    const queued = 'SELECT FROM approvals.outbox WHERE subject_id = ANY ($1)';
    const ids = [bundle.id, ...bundle.items.map(({ id }) => id)];
    expect((await service.database.pool.query(queued, [ids])).rowCount).toBe(0);
    await service.vote('alice', third, 'deny');
    await waitFor(() => received(bundle.id).length > 0);
    await waitFor(async () => (await service.database.pool.query(queued, [ids])).rowCount === 0);
    expect(received(bundle.id).map(({ body }) => JSON.parse(body) as unknown)).toEqual([
      {
        state: 's',
        task: {
          id: bundle.id,
          status: 'partial',
          status_endpoint: `${service.config.urls.accessRequests}/${bundle.id}`,
        },
      },
    ]);
    for (const { id } of bundle.items) expect(received(id)).toEqual([]);
  });

  it('announces only the ends that the client asked for [ARAP-CB-05]', async () => {
    const quiet = await open(2, callback({ events: ['approved'] }));
    const told = await open(2, callback({ events: ['cancelled'] }));
    await cancel(quiet.id);
    await cancel(told.id);
    await waitFor(() => received(told.id).length === 1);
    await waitFor(async () => (await service.database.pool.query('SELECT FROM approvals.outbox')).rowCount === 0);
    expect(received(quiet.id)).toEqual([]);
  });

  it('is named on the page of each item and in the list', async () => {
    const bundle = await open(3);
    const browser = await service.signIn('alice');
    const page = await (await browser.go(`/requests/${bundle.items[1]?.id ?? ''}`)).text();
    expect(page).toMatch(new RegExp(`Item 2 of 3 in <code><bdi[^>]*><span[^>]*>${bundle.id}`));
    const list = await (await browser.go('/requests')).text();
    expect(list).toMatch(new RegExp(`item 2 of 3 in <code><bdi[^>]*><span[^>]*>${bundle.id}`));
    const { body } = await service.asPerson('alice', `/requests/${bundle.items[1]?.id ?? ''}`);
    expect(body.request.bundle).toEqual({ id: bundle.id, position: 2, size: 3 });
    const single = await service.open();
    expect((await service.asPerson('alice', `/requests/${single.id}`)).body.request).not.toHaveProperty('bundle');
  });

  it('cannot be changed after creation, and its items cannot be added or removed', async () => {
    const { id, items: of } = await open();
    const change = (text: string) => service.database.pool.query(text, [id]);
    await expect(change(`UPDATE approvals.bundle SET callback_endpoint = 'x' WHERE id = $1`)).rejects.toThrow(
      'cannot change',
    );
    await expect(change('UPDATE approvals.access_request SET position = 7 WHERE bundle_id = $1')).rejects.toThrow(
      'cannot change',
    );
    await expect(change('UPDATE approvals.access_request SET bundle_id = NULL WHERE bundle_id = $1')).rejects.toThrow(
      'cannot change',
    );
    expect(of).toHaveLength(2);
  });

  it('stores all its items or no item when several submissions compete for the same denials', async () => {
    const { items: denied, ...asked } = await bundleOfDenials(
      [1, 2, 3, 4].map(() => aTransfer()),
      denying(service),
    );
    const orders = [denied, [...denied].reverse(), denied.slice(1), denied.slice(0, 2)];
    const answers = await Promise.all(orders.map((order) => service.submit({ ...asked, items: order })));
    expect(answers.map(({ status }) => status).sort()).toEqual([202, 400, 400, 400]);
    const opened = answers.find(({ status }) => status === 202);
    const { rows } = await service.database.pool.query<{ bundle_id: string }>(
      'SELECT bundle_id FROM approvals.access_request WHERE evaluation_id = ANY ($1)',
      [denied.map(({ denial }) => denial.evaluation_id)],
    );
    expect(rows.map(({ bundle_id }) => bundle_id)).toEqual(opened?.body.task.items.map(() => opened.body.task.id));
  });
});

describe('requests with several items', () => {
  const service = new ApprovalsUnderTest();
  beforeAll(() => service.start());
  afterAll(() => service.stop());

  it('are refused unless configured, and requests for one item are accepted [PRJ-01] [PRJ-15]', async () => {
    const body = await bundleOf([aTransfer(), aTransfer()], denying(service));
    for (const sent of [body, { ...(await service.submission()), items: body.items }, { ...body, items: null }]) {
      const { status, body: problem } = await service.submit(sent);
      expect([status, problem.type]).toEqual([400, 'about:blank']);
      expect(problem.detail).toBe('items: bulk requests are not offered; submit each item separately');
    }
    expect((await service.submit(await service.submission())).status).toBe(202);
    expect((await service.database.pool.query('SELECT FROM approvals.access_request')).rowCount).toBe(1);
  });

  it.each([1, 51, 2.5])('cannot be limited to %s items', (maxItems) => {
    const parse = () => parseConfig({ approvals: { bulk: { maxItems } } }, { baseDir: '/', stateDir: '/' });
    expect(parse).toThrow('maxItems');
  });
});
