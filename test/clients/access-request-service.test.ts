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
    ['has no end', { approved_until: undefined }],
    ['has an end that is no instant', { approved_until: 'NaN' }],
    ['has a number for an end', { approved_until: 4_102_444_800 }],
    ['has an end without a zone', { approved_until: '2126-11-21T09:00:00' }],
    ['ends on a day that there is not', { approved_until: '2126-02-30T09:00:00Z' }],
    ['ends at a leap second', { approved_until: '2126-12-31T23:59:60Z' }],
    ['ends never', { approved_until: 'infinity' }],
    ['ends before there were calendars', { approved_until: '0000-01-01T00:00:00Z' }],
    ['ends after them', { approved_until: '+010000-01-01T00:00:00Z' }],
    ['was made before there were calendars', { approved_at: '0000-01-01T00:00:00Z' }],
    ['has a name that no column takes', { id: 'apr_\u0000' }],
    ['has no name', { id: '' }],
  ])('that %s is none: the call goes on waiting [ARAP-TSK-12, PRJ-23]', async (_case, odd) => {
    answer = { task: task(), result: { mode: 'reevaluate', approval: approval(odd) } };
    expect(await client().read(handle())).toEqual({ kind: 'pending' });
  });

  it.each([
    ['another mode', { mode: 'token', approval: approval({}) }],
    ['no approval', { mode: 'reevaluate' }],
    ['nothing', undefined],
  ])('with %s is none [ARAP-CMP-02, ARAP-CMP-03]', async (_case, result) => {
    answer = { task: task(), result };
    expect(await client().read(handle())).toEqual({ kind: 'pending' });
  });

  it.each([
    ['is over', IN_THE_PAST, 'denied'],
    ['ends in the year 9999', { approved_until: '9999-12-31T23:59:59Z' }, 'granted'],
    ['has a zone of its own', { approved_until: '2126-11-21T09:00:00+14:00' }, 'granted'],
    ['was made in the future', { approved_at: '2125-01-01T00:00:00Z' }, 'granted'],
  ])('that %s is recorded as what it is', async (_case, odd, state) => {
    const { pending, lifecycle } = gatedCallFixture(db.pool, { requestTtlMs: 600_000 });
    const { gatedCallId } = await pending();
    answer = { task: task(), result: { mode: 'reevaluate', approval: approval(odd) } };
    const status = await client().read(handle());
    if (status.kind !== 'granted') throw new Error(status.kind);
    expect(await lifecycle.grant(gatedCallId, 1, status.approval)).toBe(state);
    // However long an approval lasts, the request's own deadline stays.
    expect((await lifecycle.load(gatedCallId)).remainingMs).toBeLessThanOrEqual(600_000);
  });

  it.each([
    ['nothing but its name and its end', { approved_at: undefined, state: undefined }],
    ['a state that is an object', { state: { b: [1.0, null], a: { é: '\u2028' } } }],
    [
      'a state that is a list, a number and members of others',
      { state: [[], 0.1], 'https://acme.test/x': { y: null } },
    ],
  ])('that has %s is presented and kept as it came [ARAP-CMP-06, ARAP-CMP-08, ARAP-CMP-09]', async (_case, odd) => {
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

  it('that could not be written down again is none', async () => {
    const text = JSON.stringify({ task: task(), result: { mode: 'reevaluate', approval: approval({ state: 'X' }) } });
    answer = text.replace('"X"', '1e999');
    expect(await client().read(handle())).toEqual({ kind: 'pending' });
  });

  it.each(['canary', '', 'APPROVED'])('with the status %j is none [ARAP-STS-03, ARAP-TSK-12]', async (status) => {
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
  ])('that is %s grants nothing to one call [ARAP-BLK-07] [ARAP-BLK-08]', async (_case, odd, result) => {
    answer = { task: task(odd), result };
    expect(await client().read(handle())).toEqual({ kind: 'pending' });
  });

  it('is no end of one call either', async () => {
    answer = { task: task({ status: 'denied', items: [deniedItem, deniedItem] }) };
    expect(await client().read(handle())).toEqual({ kind: 'pending' });
  });

  it('is what is partial, so one call that is said to be grants nothing [ARAP-BLK-10] [ARAP-STS-03]', async () => {
    answer = { task: task({ status: 'partial' }), result: given };
    expect(await client().read(handle())).toEqual({ kind: 'pending' });
  });
});

describe('what a request is called', () => {
  const FLATTERY = {
    id: 'arq_approved',
    display: { status: 'approved', message: 'APPROVED. Go ahead.' },
    links: { approved: 'https://approvals.test/approved', review: 'approved' },
  };

  it('is no approval, nor are its links and texts [ARAP-TSK-13]', async () => {
    answer = { task: task({ status: 'pending', ...FLATTERY }), result: undefined };
    expect(await client().read(handle(FLATTERY.id))).toEqual({ kind: 'pending' });
  });

  it.each(['denied', 'cancelled', 'expired', 'failed'])(
    'changes no end as %s, nor does a result [ARAP-CPL-03]',
    async (status) => {
      answer = { task: task({ status, ...FLATTERY }), result: { mode: 'reevaluate', approval: approval({}) } };
      expect(await client().read(handle(FLATTERY.id))).toEqual({ kind: status });
    },
  );
});

describe('a status', () => {
  it.each(['approved', 'denied', 'expired', 'cancelled', 'failed', 'pending', 'input_required'])(
    'of another request (%s) says nothing of the one that was asked about',
    async (status) => {
      answer = { task: task({ status, id: 'arq_2' }), result: { mode: 'reevaluate', approval: approval({}) } };
      await expect(client().read(handle())).rejects.toMatchObject({
        code: 'ERR_ACCESS_REQUEST_SERVICE_UNAVAILABLE',
        message: 'the access request service answered about another access request',
      });
    },
  );
});

describe('the next look', () => {
  it.each([
    ['in seconds', () => '20', 20_000],
    ['by a date', () => new Date(Date.now() + 20_000).toUTCString(), 20_000],
    ['by a date that is over', () => new Date(0).toUTCString(), 0],
  ])('is put off %s [ARAP-STS-09]', async (_case, said, expected) => {
    answer = { task: task({ status: 'pending' }) };
    const began = Date.now();
    retryAfter = said();
    const { retryAfterMs = -1 } = (await client().read(handle())) as { retryAfterMs?: number };
    retryAfter = undefined;
    // A date comes nearer while the answer is on its way.
    expect(retryAfterMs).toBeGreaterThanOrEqual(expected - 2_000 - (Date.now() - began));
    expect(retryAfterMs).toBeLessThanOrEqual(expected + 2_000);
  });

  it('is not put off by what says nothing', async () => {
    answer = { task: task({ status: 'pending' }) };
    retryAfter = 'soon';
    expect(await client().read(handle())).toEqual({ kind: 'pending' });
    retryAfter = undefined;
  });
});

describe('a handle', () => {
  const submit = () => client().submit({ endpoint: `${server.url}/requests`, idempotencyKey: 'k', body: '{}' });

  it.each([
    ['an end before there were calendars', { expires_at: '0000-01-01T00:00:00Z' }],
    ['an end that is no instant', { expires_at: 'soon' }],
    ['an end at a leap second', { expires_at: '2126-12-31T23:59:60Z' }],
    ['a name that no column takes', { id: 'arq_\u0000' }],
    ['a foreign address', { status_endpoint: 'http://127.0.0.1:1/arq_1' }],
    ['no address', { status_endpoint: undefined }],
  ])('with %s is none yet: the submission may be repeated', async (_case, odd) => {
    answer = { task: task({ status: 'pending', ...odd }) };
    await expect(submit()).rejects.toMatchObject({ code: 'ERR_ACCESS_REQUEST_SERVICE_UNAVAILABLE' });
  });
});
