import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { decodeJwt } from 'jose';
import { RESOLUTION_LINK } from '../../../workflows/domain/authzen/evaluation.ts';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import {
  askerOf,
  aTransfer,
  bundleOf,
  bundleOfDenials,
  denialOf,
  denying,
  type Denying,
  type Item,
} from '../../support/bundles.ts';

const URN = 'urn:openid:authzen:access-request:error:';
const NARROW = randomBytes(32).toString('base64url');

describe('the submission of a bundle', () => {
  const service = new ApprovalsUnderTest();
  beforeAll(() =>
    service.start({
      approvals: {
        bulk: { maxItems: 4 },
        clients: {
          narrow: { token: NARROW, actsFor: 'mcp-gateway', rights: ['submit'], resources: ['acct-a*'] },
        },
      },
    }),
  );
  afterAll(() => service.stop());

  const by = (changes: Partial<Denying> = {}): Denying => ({ ...denying(service), ...changes });
  const COUNT = `SELECT (SELECT count(*)::int FROM approvals.access_request) + (SELECT count(*)::int FROM approvals.bundle) AS n`;
  const count = async () => (await service.database.pool.query<{ n: number }>(COUNT)).rows[0]?.n ?? 0;
  const items = (n = 2): Item[] => Array.from({ length: n }, () => aTransfer());
  /** The answer to a refused submission, which must leave no rows. */
  const refused = async (body: unknown, headers: Record<string, string> = {}) => {
    const before = await count();
    const { status, body: answer } = await service.submit(body, headers);
    expect(await count()).toBe(before);
    return [status, String(answer.type).replace(URN, '')];
  };
  const INVALID = [400, 'invalid_denial_binding'];
  const MALFORMED = [400, 'about:blank'];
  const FORBIDDEN = [403, 'about:blank'];

  it('opens one task, with its items in the order of the submission [ARAP-BLK-01] [ARAP-BLK-05] [PRJ-01]', async () => {
    const submitted = items(4);
    const { status, body, headers } = await service.submit(await bundleOf(submitted, by()));
    const endpoint = `${service.config.urls.accessRequests}/${body.task.id}`;
    expect([status, headers.get('location')]).toEqual([202, endpoint]);
    expect(body).toEqual({
      task: {
        id: expect.stringMatching(/^arb_[A-Za-z0-9_-]{22}$/),
        status: 'pending',
        status_endpoint: endpoint,
        expires_at: expect.any(String),
        display: { title: 'Waiting for an approver' },
        links: { cancel: `${endpoint}/cancel`, [RESOLUTION_LINK]: `${endpoint}/resolution` },
        items: submitted.map((item) => ({ ...item, status: 'pending' })),
      },
    });
    const looked = await service.status(body.task.id);
    expect([looked.status, looked.body]).toEqual([200, body]);
    expect(Number(looked.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  });

  it('applies the requested access of the bundle to each item, and lets an item override single members [ARAP-BLK-01]', async () => {
    const until = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();
    const wishes = { requested_until: until(2), emergency: true };
    const body = await bundleOf(items(3), by());
    const [first, second, third] = body.items;
    const { body: answer } = await service.submit({
      ...body,
      requested_access: wishes,
      items: [
        first,
        { ...second, requested_access: { requested_until: until(1) } },
        { ...third, requested_access: {} },
      ],
    });
    const { rows } = await service.database.pool.query(
      'SELECT claimed::json #> $2 AS wished FROM approvals.access_request WHERE bundle_id = $1 ORDER BY position',
      [answer.task.id, '{requested_access}'],
    );
    expect(rows.map(({ wished }) => wished)).toEqual([
      wishes,
      { ...wishes, requested_until: expect.any(String) },
      wishes,
    ]);
    expect(rows[1].wished.requested_until < wishes.requested_until).toBe(true);
  });

  it('has no top-level members that belong to its items [ARAP-SUB-04]', async () => {
    const body = await bundleOf(items(), by());
    const { resource, action } = aTransfer();
    for (const more of [{ resource, action }, { resource }, { action }, { resource: null }]) {
      expect(await refused({ ...body, ...more })).toEqual(MALFORMED);
    }
    expect((await service.submit(body)).status).toBe(202);
  });

  it.each<[string, (body: Awaited<ReturnType<typeof bundleOf>>) => object]>([
    ['no items', (body) => ({ ...body, items: [] })],
    ['one item', (body) => ({ ...body, items: body.items.slice(0, 1) })],
    ['items of the wrong type', (body) => ({ ...body, items: [null, 1] })],
    ['items that are not a list', (body) => ({ ...body, items: { 0: aTransfer() } })],
    ['an item without action', (body) => ({ ...body, items: body.items.map(({ resource }) => ({ resource })) })],
    ['no denial', ({ denial: _denial, ...body }) => body],
    [
      'a denial in one item',
      ({ denial, ...body }) => ({ ...body, items: body.items.map((item, i) => (i ? { ...item, denial } : item)) }),
    ],
    [
      'a denial for the bundle and one in one item',
      (body) => ({ ...body, items: body.items.map((item, i) => (i ? { ...item, denial: body.denial } : item)) }),
    ],
    [
      'a denial for the bundle and one in each item',
      (body) => ({ ...body, items: body.items.map((item) => ({ ...item, denial: body.denial })) }),
    ],
    ['more items than allowed', (body) => ({ ...body, items: items(5) })],
  ])('is malformed with %s [ARAP-SUB-08]', async (_name, change) => {
    expect(await refused(change(await bundleOf(items(), by())))).toEqual(MALFORMED);
  });

  it('is too large when its items cannot be stored', async () => {
    const body = await bundleOf(items(4), by({ context: { agent: 'agent', note: 'x'.repeat(2_000_000) } }));
    expect((await refused(body))[0]).toBe(413);
  });

  it.each<[string, (list: Item[]) => Item[]]>([
    ['with one more item', (list) => [...list, aTransfer()]],
    ['with one less item', (list) => list.slice(1)],
    ['with one item twice', (list) => [...list, ...list.slice(0, 1)]],
    ['with another item in place of one', (list) => [...list.slice(1), aTransfer()]],
    ['in another order', (list) => [...list].reverse()],
    [
      'with the actions of two items exchanged',
      ([a, b, ...rest]) => (a && b ? [{ ...a, action: b.action }, { ...b, action: a.action }, ...rest] : []),
    ],
    [
      'with more members in one item',
      ([a, ...rest]) => (a ? [{ ...a, action: { ...a.action, properties: { force: true } } }, ...rest] : []),
    ],
  ])(
    'is refused %s than was denied, whether the denial has its hash or its parts [ARAP-BLK-02] [ARAP-BLK-03]',
    async (_name, change) => {
      const denied: Item[] = [aTransfer(), { ...aTransfer(), action: { name: 'close' } }, aTransfer()];
      const copies = { subject: { type: 'identity', id: 'agent' }, items: denied, context: { agent: 'agent' } };
      for (const claims of [{}, { binding_hash: undefined, ...copies }, copies]) {
        const body = await bundleOf(denied, by({ claims }));
        expect(await refused({ ...body, items: change(denied) })).toEqual(INVALID);
        expect((await service.submit(body)).status).toBe(202);
      }
    },
  );

  it('is refused for another subject or context than was denied [ARAP-BLK-02]', async () => {
    const body = await bundleOf(items(), by());
    expect(await refused({ ...body, subject: { type: 'identity', id: 'mallory' } })).toEqual(INVALID);
    expect(await refused({ ...body, context: { agent: 'another' } })).toEqual(INVALID);
  });

  it('does not match a denial of a single request, and a single request does not match a denial of a bundle [ARAP-BLK-02]', async () => {
    const [one, two] = [aTransfer(), aTransfer()];
    const body = await bundleOf([one, two], by());
    expect(await refused({ ...body, denial: await denialOf(one, by()) })).toEqual(INVALID);
    const { items: _items, ...alone } = body;
    expect(await refused({ ...alone, ...one })).toEqual(INVALID);
    // A token with both forms covers no single item.
    const both = { subject: body.subject, context: body.context, ...one, items: [one, two] };
    const odd = await denialOf(one, by({ claims: both }));
    expect(await refused({ ...alone, ...one, denial: odd })).toEqual(INVALID);
  });

  it('verifies each item against its own denial where each item has one [ARAP-BLK-04]', async () => {
    const body = await bundleOfDenials(items(3), by());
    const [first, second, third] = body.items;
    const exchanged = [{ ...first, denial: second?.denial }, { ...second, denial: first?.denial }, third];
    expect(await refused({ ...body, items: exchanged })).toEqual(INVALID);
    expect(await refused({ ...body, items: [first, { ...second, denial: first?.denial }, third] })).toEqual(INVALID);
    expect(await refused({ ...body, items: [first, second, { ...third, ...aTransfer() }] })).toEqual(INVALID);
    const expired = { expiresAt: new Date(600_000), claims: { iat: 1 } };
    const stale = { ...aTransfer() };
    const old = { ...stale, denial: await denialOf(stale, by(expired)) };
    expect(await refused({ ...body, items: [old, second] })).toEqual([410, 'expired_denial']);
    // An invalid binding is reported before the age of an earlier item.
    expect(await refused({ ...body, items: [old, { ...second, ...aTransfer() }] })).toEqual(INVALID);
    const foreign = { ...stale, denial: await denialOf(stale, by({ claims: { requester: 'other' } })) };
    expect(await refused({ ...body, items: [second, foreign] })).toEqual(FORBIDDEN);
    // Another order is valid too, because each denial is for its own item.
    expect((await service.submit({ ...body, items: [third, first, second] })).status).toBe(202);
  });

  it('uses the denial of an item once, alone or in a bundle [ARAP-BLK-04] [PRJ-10]', async () => {
    const asked = askerOf({});
    const denied = async () => {
      const item = aTransfer();
      return { ...item, denial: await denialOf(item, by()) };
    };
    const [first, second, third] = [await denied(), await denied(), await denied()];
    expect(await refused({ ...asked, items: [first, first] })).toEqual(INVALID);
    expect(await refused({ ...asked, items: [first, second, first] })).toEqual(INVALID);
    expect((await service.submit({ ...asked, items: [second, first] })).status).toBe(202);
    expect(await refused({ ...asked, items: [first, third] })).toEqual(INVALID);
    expect(await refused({ ...asked, ...first })).toEqual(INVALID);
    expect((await service.submit({ ...asked, ...third })).status).toBe(202);
    expect(await refused({ ...asked, items: [await denied(), third] })).toEqual(INVALID);
  });

  it('uses the denial of a bundle once, by its token or by its evaluation [PRJ-10]', async () => {
    const whole = await bundleOf(items(), by());
    expect((await service.submit(whole)).status).toBe(202);
    expect(await refused(whole)).toEqual(INVALID);
    for (const claim of ['jti', 'evaluation_id']) {
      const claims = { [claim]: decodeJwt(whole.denial.binding_token)[claim] };
      const { denial, ...again } = await bundleOf(items(), by({ claims }));
      const { evaluation_id: _id, ...unnamed } = denial;
      expect(await refused({ ...again, denial: unnamed })).toEqual(INVALID);
    }
  });

  it("is refused when any item is outside the client's subjects and resources [ARAP-SUB-21]", async () => {
    const accounts = ['acct-a1', 'acct-b1'].map((id) => ({ ...aTransfer(), resource: { type: 'account', id } }));
    const headers = { authorization: `Bearer ${NARROW}` };
    expect(await refused(await bundleOf(accounts, by()), headers)).toEqual(FORBIDDEN);
    expect((await service.submit(await bundleOf([accounts[0], accounts[0]] as Item[], by()), headers)).status).toBe(
      202,
    );
  });

  it('opens one task for ten simultaneous submissions of one key and body, and refuses the key for another body [ARAP-IDM-02] [ARAP-IDM-03] [PRJ-09]', async () => {
    const body = await bundleOfDenials(items(3), by());
    const key = { 'idempotency-key': 'bundle' };
    const answers = await Promise.all(Array.from({ length: 10 }, () => service.submit(body, key)));
    expect(new Set(answers.map((answer) => answer.body.task?.id)).size).toBe(1);
    const changed = { ...body, items: [...body.items].reverse() };
    expect(await refused(changed, key)).toEqual([409, 'duplicate_request']);
    // A key cannot be reused for another kind of submission.
    expect(await refused(await service.submission(), key)).toEqual([409, 'duplicate_request']);
    await service.submit(await service.submission(), { 'idempotency-key': 'single' });
    expect(await refused(await bundleOf(items(), by()), { 'idempotency-key': 'single' })).toEqual([
      409,
      'duplicate_request',
    ]);
  });
});
