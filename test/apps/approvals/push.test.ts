import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import webPush from 'web-push';
import { createPushSubscriptionStore } from '../../../apps/approvals/stores/push-subscription.store.ts';
import type { HttpServer } from '../../../apps/shared/http/listen.ts';
import { altered } from '../../support/altered.ts';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import { postAsPage, type PushBrowser, PushService } from '../../support/push-service.ts';
import { serve } from '../../support/serve.ts';
import { makeRoom } from '../../support/passing-time.ts';
import { waitFor } from '../../support/wait-for.ts';

const { publicKey, privateKey } = webPush.generateVAPIDKeys();
const SUBJECT = 'mailto:approvals@example.com';
const SECRET = `whsec_${Buffer.from('a secret of those who are told').toString('base64')}`;
const stage = { name: 'owner', approvers: { people: ['alice', 'bob'] } };
const templates = {
  owners: { stages: [stage] },
  showing: { stages: [stage], notify: { arguments: ['path'] } },
  reminding: { stages: [{ ...stage, remindAfterSeconds: 600 }] },
};

describe('notices of browsers', () => {
  const service = new ApprovalsUnderTest();
  const vendor = new PushService();
  /** Takes the signed messages to programs. */
  let program: HttpServer;
  let told = '';
  const sites: Record<string, Parameters<typeof postAsPage>[0]> = {};
  const open = (template: keyof typeof templates = 'owners', more: object = {}) =>
    service.open({ claims: { template }, ...more });
  const post = (name: string, path: string, body: object, token?: string) => {
    const site = sites[name];
    if (site === undefined) throw new Error(`${name} is not signed in`);
    return postAsPage(site, `/push-subscriptions${path}`, body, token);
  };
  const subscribe = async (name: string, browser = vendor.browser()): Promise<PushBrowser> => {
    expect(await post(name, '', { ...browser.subscription, serverKey: publicKey })).toBe(201);
    return browser;
  };
  const about = ({ notices }: PushBrowser, { id }: { id: string }) =>
    notices.filter(({ content }) => content.request === id);
  const arrived = (browser: PushBrowser, request: { id: string }, count = 1) =>
    waitFor(() => (about(browser, request).length >= count ? about(browser, request) : undefined));
  const known = async ({ subscription }: PushBrowser) => {
    const text = 'SELECT person FROM approvals.push_subscription WHERE endpoint = $1';
    return (await service.database.pool.query<{ person: string }>(text, [subscription.endpoint])).rows[0]?.person;
  };

  beforeAll(async () => {
    program = await serve((request, response) => {
      request.on('data', (part: Buffer) => (told += part.toString()));
      request.on('end', () => response.writeHead(204).end());
    });
    const push = { subject: SUBJECT, privateKey, networks: await vendor.start() };
    const notifications = { url: program.url, secret: SECRET, networks: ['127.0.0.0/8'] };
    await service.start({ approvals: { templates, notifications, channels: { mailbox: false, push } } });
    for (const name of ['alice', 'bob']) sites[name] = { browser: await service.signIn(name), url: service.url };
  });
  beforeEach(() => makeRoom(service.database.pool));
  afterAll(async () => {
    await vendor.stop();
    await service.stop();
    await program.close();
    expect(vendor.faults).toEqual([]);
  });

  it('go to each browser of a person, sealed for it and signed for its push service, and one says who decided', async () => {
    const [desk, phone] = [await subscribe('alice'), await subscribe('alice')];
    const request = await open('showing', { arguments: { path: '/tmp/a', content: 'a secret' } });
    for (const browser of [desk, phone]) {
      const [asked] = await arrived(browser, request);
      expect(asked).toMatchObject({ subject: SUBJECT, urgency: 'high', ttl: 28 * 86_400 });
      const title = 'Your decision is needed';
      const page = `/requests/${request.id}`;
      expect(asked?.content).toEqual({ request: request.id, page, title, body: expect.any(String), isOver: false });
      expect(JSON.stringify(asked)).not.toMatch(/secret/);
    }
    await service.vote('bob', request, 'deny');
    for (const browser of [desk, phone]) {
      const [asked, over] = await arrived(browser, request, 2);
      expect(over?.content).toMatchObject({ request: request.id, title: 'Denied by bob.', isOver: true });
      expect(over).toMatchObject({ topic: asked?.topic, urgency: 'normal', ttl: 86_400 });
    }
  });

  it('remind those who have not voted', async () => {
    const browser = await subscribe('bob');
    const request = await open('reminding');
    await arrived(browser, request);
    await service.database.pool.query(
      `UPDATE approvals.access_request SET stage_opened_at = stage_opened_at - interval '10 minutes',
         remind_at = remind_at - interval '10 minutes' WHERE id = $1`,
      [request.id],
    );
    const [, reminder] = await arrived(browser, request, 2);
    expect(reminder?.content).toMatchObject({ title: 'Reminder: your decision is needed', isOver: false });
    // Alice is reminded, too, and not in a browser of a later test.
    const waiting = 'SELECT FROM approvals.message_outbox';
    await waitFor(async () => (await service.database.pool.query(waiting)).rowCount === 0);
  });

  it('end in a browser that its push service no longer knows, and when its person switches them off', async () => {
    const [gone, off, kept] = [await subscribe('alice'), await subscribe('alice'), await subscribe('alice')];
    gone.answers.push(410);
    expect(await post('bob', '/revoke', off.subscription)).toBe(200);
    expect(await known(off)).toBe('alice');
    expect(await post('alice', '/revoke', off.subscription)).toBe(200);
    const request = await open();
    await arrived(kept, request);
    await waitFor(async () => (await known(gone)) === undefined);
    expect([await known(off), off.asked, gone.notices]).toEqual([undefined, 0, []]);
  });

  it('end in a browser whose push service leads nowhere for a day, and in no other', async () => {
    const store = createPushSubscriptionStore(service.database.pool);
    const { keys } = vendor.browser().subscription;
    const lost = { endpoint: 'https://push.invalid/send/1', ...keys, person: 'bob', serverKey: publicKey };
    const since = async () =>
      (await store.of(['bob'], publicKey)).find(({ endpoint }) => endpoint === lost.endpoint)?.nowhereSince;
    const begin = async (ago: string) => {
      const text = 'UPDATE approvals.push_subscription SET nowhere_since = clock_timestamp() - $2::interval';
      await service.database.pool.query(`${text} WHERE endpoint = $1`, [lost.endpoint, ago]);
    };
    await store.subscribe(lost);
    await open();
    await waitFor(since);
    expect([await store.noteReach(lost, true), await since()]).toEqual([true, undefined]);
    await begin('23 hours');
    expect(await store.noteReach(lost, false)).toBe(true);
    await store.subscribe(lost);
    expect(await since()).toBeUndefined();
    await begin('24 hours');
    const { endpoint } = lost;
    await waitFor(async () => (await known({ ...vendor.browser(), subscription: { endpoint, keys } })) === undefined);
    const waiting = 'SELECT FROM approvals.message_outbox';
    await waitFor(async () => (await service.database.pool.query(waiting)).rowCount === 0);
  });

  it('are repeated for a browser whose push service failed, and not for the others of its person', async () => {
    const [failing, other] = [await subscribe('alice'), await subscribe('alice')];
    failing.answers.push(503, 429);
    const request = await open();
    await arrived(failing, request);
    expect([failing.asked, about(other, request).length]).toEqual([3, 1]);
    expect(service.log).toContain(`the push service ${new URL(vendor.origin).host} answered 503`);
    expect(service.log).not.toContain(new URL(failing.subscription.endpoint).pathname);
  });

  it('of a push service that does not answer delay no other channel', async () => {
    const silent = await subscribe('bob');
    silent.answers.push(...Array<'silence'>(100).fill('silence'));
    const requests = await Promise.all(Array.from({ length: 6 }, () => open()));
    for (const { id } of requests) await waitFor(() => told.includes(id));
    await waitFor(() => silent.asked >= 4);
    expect(silent.notices).toEqual([]);
    expect(await post('bob', '/revoke', silent.subscription)).toBe(200);
    silent.answers.length = 0;
  });

  it('belong to the last person who switched them on in a browser', async () => {
    const shared = await subscribe('alice');
    await subscribe('bob', shared);
    expect(await known(shared)).toBe('bob');
  });

  it('go to the last ten browsers of a person', async () => {
    const store = createPushSubscriptionStore(service.database.pool);
    const browsers = Array.from({ length: 14 }, () => vendor.browser().subscription);
    await Promise.all(
      browsers.map(({ endpoint, keys }) =>
        store.subscribe({ endpoint, ...keys, person: 'many', serverKey: publicKey }),
      ),
    );
    const { endpoint, keys } = vendor.browser().subscription;
    await store.subscribe({ endpoint, ...keys, person: 'many', serverKey: publicKey });
    const left = await store.of(['many'], publicKey);
    expect([left.length, left.at(-1)?.endpoint]).toEqual([10, endpoint]);
    expect(await store.of(['many'], altered(publicKey))).toEqual([]);
  });

  it('are stored by functions alone', async () => {
    const client = await service.database.pool.connect();
    try {
      await client.query('BEGIN; SET LOCAL ROLE countersign_approvals');
      await expect(client.query("UPDATE approvals.push_subscription SET person = 'bob'")).rejects.toMatchObject({
        code: '42501',
      });
    } finally {
      await client.query('ROLLBACK');
      client.release();
    }
  });

  it.each([
    ['another protocol', 'http://push.example/send/1'],
    ['this machine by name', 'http://localhost:4100/'],
    ['a private network', 'https://10.0.0.1/send/1'],
    ['the metadata of a cloud', 'https://169.254.169.254/latest'],
    ['this machine, spelled otherwise', 'https://[::1]/send/1'],
    ['a user name', 'https://push.example@127.0.0.1/send/1'],
    ['a name that does not exist', 'https://push.nowhere.invalid/send/1'],
    ['a line break', 'https://push.example/\nsend'],
    ['no address', 'push.example'],
  ])('are sent to no address of %s', async (_name, endpoint) => {
    const { keys } = vendor.browser().subscription;
    expect(await post('alice', '', { endpoint, keys, serverKey: publicKey })).toBe(400);
  });

  it('are switched on by the page of a person only, with keys and for the present key of the service', async () => {
    const { endpoint, keys } = vendor.browser().subscription;
    const body = { endpoint, keys, serverKey: publicKey };
    expect(await post('alice', '', body, 'another token')).toBe(403);
    expect(await post('alice', '', { ...body, serverKey: altered(publicKey) })).toBe(409);
    const off = { ...keys, p256dh: `B${'A'.repeat(86)}` };
    for (const wrong of [off, { ...keys, auth: 'short' }, {}])
      expect(await post('alice', '', { ...body, keys: wrong })).toBe(400);
    const byToken = await service.asPerson('alice', '/push-subscriptions', {
      method: 'POST',
      body: JSON.stringify(body),
    });
    expect(byToken.status).toBe(403);
    expect((await service.fetch('/push-subscriptions', { method: 'POST', body: '{}' })).status).not.toBe(201);
    expect(await known({ ...vendor.browser(), subscription: body })).toBeUndefined();
  });
});
