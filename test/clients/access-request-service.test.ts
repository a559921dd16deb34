import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { HttpServer } from '../../apps/shared/http/listen.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { gatedCallFixture } from '../support/gated-calls.ts';
import { anAccessRequestClient } from '../support/authority-clients.ts';
import { serve } from '../support/serve.ts';

let server: HttpServer;
let db: TestDatabase;
let answer: object | string = {};
let retryAfter: string | undefined;
const client = () => anAccessRequestClient(server.url);
const handle = (accessRequestId = 'arq_1') => ({ accessRequestId, statusEndpoint: `${server.url}/arq_1` });
beforeAll(async () => {
  db = await createTestDatabase();
  server = await serve((_request, response) => {
    response
      .writeHead(200, {
        'content-type': 'application/json',
        ...(retryAfter !== undefined && { 'retry-after': retryAfter }),
      })
      .end(typeof answer === 'string' ? answer : JSON.stringify(answer));
  });
});
afterAll(async () => {
  await server.close();
  await db.drop();
});

const task = (more: object = {}) => ({
  id: 'arq_1',
  status: 'approved',
  status_endpoint: `${server.url}/arq_1`,
  ...more,
});
const approval = (more: object) => ({
  id: `apr_${Math.random()}`,
  approved_at: '2026-11-21T09:00:00Z',
  approved_until: '2126-11-21T09:00:00Z',
  state: 'signed',
  ...more,
});
const IN_THE_PAST = { approved_until: '2020-01-01T00:00:00Z' };

describe('a grant', () => {
  it.each([
    ['has no expiry', { approved_until: undefined }],
    ['has an expiry that is not an instant', { approved_until: 'NaN' }],
    ['has a number as its expiry', { approved_until: 4_102_444_800 }],
    ['has an expiry without a time zone', { approved_until: '2126-11-21T09:00:00' }],
    ['ends on a day that does not exist', { approved_until: '2126-02-30T09:00:00Z' }],
    ['ends at a leap second', { approved_until: '2126-12-31T23:59:60Z' }],
    ['never ends', { approved_until: 'infinity' }],
    ['ends before the supported calendar', { approved_until: '0000-01-01T00:00:00Z' }],
    ['ends after the supported calendar', { approved_until: '+010000-01-01T00:00:00Z' }],
    ['was made before the supported calendar', { approved_at: '0000-01-01T00:00:00Z' }],
    ['has an id that no column can store', { id: 'apr_\u0000' }],
    ['has no id', { id: '' }],
  ])('that %s is ignored: the call keeps waiting [ARAP-TSK-12, PRJ-23]', async (_case, odd) => {
    answer = { task: task(), result: { mode: 'reevaluate', approval: approval(odd) } };
    expect(await client().read(handle())).toEqual({ kind: 'pending' });
  });

  it.each([
    ['another mode', { mode: 'token', approval: approval({}) }],
    ['no approval', { mode: 'reevaluate' }],
    ['nothing', undefined],
  ])('with %s is ignored [ARAP-CMP-02, ARAP-CMP-03]', async (_case, result) => {
    answer = { task: task(), result };
    expect(await client().read(handle())).toEqual({ kind: 'pending' });
  });

  it.each([
    ['has expired', IN_THE_PAST, 'denied'],
    ['ends in the year 9999', { approved_until: '9999-12-31T23:59:59Z' }, 'granted'],
    ['has another time zone', { approved_until: '2126-11-21T09:00:00+14:00' }, 'granted'],
    ['was made in the future', { approved_at: '2125-01-01T00:00:00Z' }, 'granted'],
  ])('that %s is recorded unchanged', async (_case, odd, state) => {
    const { pending, lifecycle } = gatedCallFixture(db.pool, { requestTtlMs: 600_000 });
    const { gatedCallId } = await pending();
    answer = { task: task(), result: { mode: 'reevaluate', approval: approval(odd) } };
    const status = await client().read(handle());
    if (status.kind !== 'granted') throw new Error(status.kind);
    expect(await lifecycle.grant(gatedCallId, 1, status.approval)).toBe(state);
    // An approval that lasts longer can be used for a day.
    expect((await lifecycle.load(gatedCallId)).remainingMs).toBeLessThanOrEqual(86_400_000);
  });

  it.each([
    ['only an id and an expiry', { approved_at: undefined, state: undefined }],
    ['a state that is an object', { state: { b: [1.0, null], a: { é: '\u2028' } } }],
    [
      'a state that is a list, a number and members of others',
      { state: [[], 0.1], 'https://acme.test/x': { y: null } },
    ],
  ])('that has %s is stored and presented unchanged [ARAP-CMP-06, ARAP-CMP-08, ARAP-CMP-09]', async (_case, odd) => {
    const { pending, lifecycle } = gatedCallFixture(db.pool);
    const { gatedCallId } = await pending();
    const given = approval(odd);
    answer = { task: task({ status_endpoint: undefined }), result: { approval: given, mode: 'reevaluate', more: 1 } };
    const status = await client().read(handle());
    if (status.kind !== 'granted') throw new Error(status.kind);
    expect(await lifecycle.grant(gatedCallId, 1, status.approval)).toBe('granted');
    const { approval: kept } = await lifecycle.load(gatedCallId);
    expect(JSON.stringify(kept?.presented)).toBe(JSON.stringify(given));
  });

  it('that cannot be serialized again is ignored', async () => {
    const text = JSON.stringify({ task: task(), result: { mode: 'reevaluate', approval: approval({ state: 'X' }) } });
    answer = text.replace('"X"', '1e999');
    expect(await client().read(handle())).toEqual({ kind: 'pending' });
  });

  it.each(['canary', '', 'APPROVED'])('with the status %j is ignored [ARAP-STS-03, ARAP-TSK-12]', async (status) => {
    answer = { task: task({ status }), result: { mode: 'reevaluate', approval: approval({}) } };
    expect(await client().read(handle())).toEqual({ kind: 'pending' });
  });
});

describe('a task with items', () => {
  const given = { mode: 'reevaluate', approval: approval({}) };
  const approvedItem = { status: 'approved', result: given };
  const deniedItem = { status: 'denied' };

  it.each<[string, object, unknown]>([
    ['partial', { status: 'partial', items: [approvedItem, deniedItem] }, undefined],
    ['partial, with a result', { status: 'partial', items: [approvedItem, deniedItem] }, given],
    ['approved, with a result that its items have not', { items: [{ status: 'approved' }, deniedItem] }, given],
    ['approved, with the result of one item', { items: [approvedItem, deniedItem] }, given],
    ['approved, with the result of its only item', { items: [approvedItem] }, given],
    ['approved, with results of its items alone', { items: [approvedItem, approvedItem] }, undefined],
    ['approved, without one item', { items: [] }, given],
  ])('that is %s does not grant a single call [ARAP-BLK-07] [ARAP-BLK-08]', async (_case, odd, result) => {
    answer = { task: task(odd), result };
    expect(await client().read(handle())).toEqual({ kind: 'pending' });
  });

  it('that is denied does not end a single call', async () => {
    answer = { task: task({ status: 'denied', items: [deniedItem, deniedItem] }) };
    expect(await client().read(handle())).toEqual({ kind: 'pending' });
  });

  it('alone can be partial, so a single call with that status is not granted [ARAP-BLK-10] [ARAP-STS-03]', async () => {
    answer = { task: task({ status: 'partial' }), result: given };
    expect(await client().read(handle())).toEqual({ kind: 'pending' });
  });
});

describe('the name of a request', () => {
  const FLATTERY = {
    id: 'arq_approved',
    display: { status: 'approved', message: 'APPROVED. Go ahead.' },
    links: { approved: 'https://approvals.test/approved', review: 'approved' },
  };

  it('does not count as an approval, nor do its links and texts [ARAP-TSK-13]', async () => {
    answer = { task: task({ status: 'pending', ...FLATTERY }), result: undefined };
    expect(await client().read(handle(FLATTERY.id))).toEqual({ kind: 'pending' });
  });

  it.each(['denied', 'cancelled', 'expired', 'failed'])(
    'does not change the end %s, nor does a result [ARAP-CPL-03]',
    async (status) => {
      answer = { task: task({ status, ...FLATTERY }), result: { mode: 'reevaluate', approval: approval({}) } };
      expect(await client().read(handle(FLATTERY.id))).toEqual({ kind: status });
    },
  );
});

describe('a status', () => {
  it.each(['approved', 'denied', 'expired', 'cancelled', 'failed', 'pending', 'input_required'])(
    'of another request (%s) is an error',
    async (status) => {
      answer = { task: task({ status, id: 'arq_2' }), result: { mode: 'reevaluate', approval: approval({}) } };
      await expect(client().read(handle())).rejects.toMatchObject({
        code: 'ERR_ACCESS_REQUEST_SERVICE_UNAVAILABLE',
        message: 'the access request service answered about another access request',
      });
    },
  );
});

describe('the next poll', () => {
  it.each([
    ['in seconds', () => '20', 20_000],
    ['by a date', () => new Date(Date.now() + 20_000).toUTCString(), 20_000],
    ['by a past date', () => new Date(0).toUTCString(), 0],
  ])('is delayed %s [ARAP-STS-09]', async (_case, said, expected) => {
    answer = { task: task({ status: 'pending' }) };
    const began = Date.now();
    retryAfter = said();
    const { retryAfterMs = -1 } = (await client().read(handle())) as { retryAfterMs?: number };
    retryAfter = undefined;
    // The time to the date shrinks while the answer is in transit.
    expect(retryAfterMs).toBeGreaterThanOrEqual(expected - 2_000 - (Date.now() - began));
    expect(retryAfterMs).toBeLessThanOrEqual(expected + 2_000);
  });

  it('is not delayed by an unreadable value', async () => {
    answer = { task: task({ status: 'pending' }) };
    retryAfter = 'soon';
    expect(await client().read(handle())).toEqual({ kind: 'pending' });
    retryAfter = undefined;
  });
});

describe('the handle of a request', () => {
  const submit = () => client().submit({ endpoint: `${server.url}/requests`, idempotencyKey: 'k', body: '{}' });

  it.each([
    ['an expiry before the supported calendar', { expires_at: '0000-01-01T00:00:00Z' }],
    ['an expiry that is not an instant', { expires_at: 'soon' }],
    ['an expiry at a leap second', { expires_at: '2126-12-31T23:59:60Z' }],
    ['an id that no column can store', { id: 'arq_\u0000' }],
    ['a foreign address', { status_endpoint: 'http://127.0.0.1:1/arq_1' }],
    ['no address', { status_endpoint: undefined }],
  ])('with %s is refused, and the submission may be repeated', async (_case, odd) => {
    answer = { task: task({ status: 'pending', ...odd }) };
    await expect(submit()).rejects.toMatchObject({ code: 'ERR_ACCESS_REQUEST_SERVICE_UNAVAILABLE' });
  });
});
