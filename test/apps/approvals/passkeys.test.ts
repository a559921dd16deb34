import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { sha256 } from '../../../apps/shared/crypto.ts';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import { Authenticator, type Ceremony } from '../../support/authenticator.ts';
import { type Inbox, registered, registration } from '../../support/passkeys.ts';
import { refusedApprovals } from './passkey-refusals.ts';
import { PasskeyWorld, SETTINGS } from './passkey-world.ts';

const MINUTE_MS = 60_000;

const service = new ApprovalsUnderTest();
const world = new PasskeyWorld(service);
const { inboxOf, keyOf, open, formFor, statusOf, votesOn, query } = world;
beforeAll(async () => {
  await service.start(SETTINGS);
  await world.begin();
});
afterAll(() => service.stop());
afterEach(() => void (service.clock.aheadMs = 0));

describe('a stage that demands a passkey', () => {
  it('takes an approval that a passkey of the approver confirmed, and keeps what proves it', async () => {
    const request = await open();
    const { asked, send, options } = await formFor('alice', request);
    expect(options['']).toMatchObject({ rpId: 'localhost', allowCredentials: [{ id: keyOf('alice').id }] });
    expect((await send(keyOf('alice').get(asked()))).status).toBe(303);
    expect(await statusOf(request)).toBe('approved');
    const [vote] = await votesOn(request);
    const { challenge, ...kept } = vote?.passkey_assertion ?? {};
    expect(JSON.parse(challenge)).toMatchObject({
      ...{ request: request.id, signer: 'alice' },
      call: `sha-256:${sha256(`${kept.nonce}.${request.callDigest}`)}`,
    });
    expect(Object.keys(kept).sort()).toEqual(
      ['authenticatorData', 'clientDataJSON', 'credentialId', 'nonce', 'publicKey', 'signature'].sort(),
    );
    const page = await (await inboxOf('alice').browser.go(`/requests/${request.id}`)).text();
    expect(page).toContain('with a passkey');
  });

  it('takes a denial without a passkey', async () => {
    const request = await open();
    const { send } = await formFor('bob', request);
    expect((await send('', { verdict: 'deny' })).status).toBe(303);
    expect(await statusOf(request)).toBe('denied');
  });

  it('takes no approval by a token, a signed message or an agent, and says where to approve', async () => {
    const request = await open();
    const answers = [
      await service.vote('alice', request, 'approve'),
      await service.vote('robot', request, 'approve'),
      await service.vote('alice', request, 'approve', { passkey: '{}', passkeyNonce: 'x' }),
    ];
    for (const { status, body } of answers) {
      expect([status, body.title]).toEqual([403, expect.stringMatching(/passkey/)]);
    }
    const byMessage = await service.voteByWebhook('bob', request, 'approve');
    expect([byMessage.status, await byMessage.text()]).toEqual([
      403,
      expect.stringContaining('Open the request in the inbox'),
    ]);
    const { send } = await formFor('alice', request);
    expect((await send('')).status).toBe(403);
    expect([await statusOf(request), await votesOn(request)]).toEqual(['pending', []]);
    expect((await service.vote('alice', request, 'deny')).status).toBe(200);
  });

  it('is every stage of a template that demands it', async () => {
    const request = await open('whole');
    const first = await formFor('alice', request);
    expect((await first.send(keyOf('alice').get(first.asked()))).status).toBe(303);
    expect((await service.vote('bob', request, 'approve')).status).toBe(403);
    const second = await formFor('bob', request);
    expect((await second.send(keyOf('bob').get(second.asked()), { stage: '2' })).status).toBe(303);
    expect(await statusOf(request)).toBe('approved');
  });

  it('takes no approval from the database either, whichever function inserts it', async () => {
    const request = await open();
    const vote = `INSERT INTO approvals.vote (access_request_id, stage, counts_in, approver_issuer, approver_subject, approver_roles,
      cast_by, actors, verdict, call_digest, via) VALUES ($1, 1, 0, 'i', 'alice', '{}', 'alice', '{}', $2, $3, 'api')`;
    await expect(query(vote, request.id, 'approve', request.callDigest)).rejects.toMatchObject({ code: 'CS002' });
    await query(vote, request.id, 'deny', request.callDigest);
  });

  it('can be passed by an emergency grant, which no stage decides', async () => {
    const request = await open();
    const body = JSON.stringify({ reason: 'the disk is full', callDigest: request.callDigest });
    const { status } = await service.asPerson('carol', `/requests/${request.id}/break-glass`, { method: 'POST', body });
    expect([status, await statusOf(request)]).toEqual([200, 'approved']);
  });

  it('takes the passkey of a stand-in for the approver whom the stand-in chose, and for no other', async () => {
    const body = JSON.stringify({ delegate: 'bob', until: new Date(Date.now() + 3_600_000).toISOString() });
    const { body: delegation } = await service.asPerson('alice', '/delegations', { method: 'POST', body });
    const request = await open('turns');
    const { asked, send } = await formFor('bob', request);
    const forAlice = keyOf('bob').get(asked('alice'));
    expect((await send(forAlice)).status).toBe(403);
    expect(
      (await send(keyOf('bob').get({ ...asked('alice'), challenge: 'AAAA' }), { onBehalfOf: 'alice' })).status,
    ).toBe(403);
    expect((await send(forAlice, { onBehalfOf: 'alice' })).status).toBe(303);
    expect((await votesOn(request))[0]).toMatchObject({ approver_subject: 'alice', cast_by: 'bob' });
    await service.asPerson('alice', `/delegations/${delegation.id}/revoke`, { method: 'POST' });
  });
});

refusedApprovals(world);

describe('a passkey', () => {
  const count = async (id: string) => (await query('SELECT FROM approvals.passkey WHERE id = $1', id)).rowCount;

  it('is registered only after a sign-in of the last minutes, and never with a token', async () => {
    const { asked, send } = await registration(inboxOf('carol'));
    service.clock.aheadMs = 11 * MINUTE_MS;
    const { browser, origin } = inboxOf('carol');
    const redirected = await browser.go(`${origin}/passkeys/new`);
    expect(redirected.headers.get('location')).toBe('/sign-in?returnTo=%2Fpasskeys%2Fnew&fresh=1');
    const authenticator = new Authenticator();
    const late = await send(authenticator.create(asked));
    expect([late.status, await late.text()]).toEqual([403, expect.stringContaining('Sign in again first')]);
    service.clock.aheadMs = 0;
    const body = JSON.stringify({ name: 'Token', passkey: authenticator.create(asked) });
    expect((await service.asPerson('carol', '/passkeys', { method: 'POST', body })).status).toBe(403);
    expect(await count(authenticator.id)).toBe(0);
    expect((await send(authenticator.create(asked))).status).toBe(303);
    expect(await count(authenticator.id)).toBe(1);
  });

  it.each<[string, (asked: Ceremony) => Ceremony, number]>([
    [
      'for a value that no page gave out',
      (asked) => ({ ...asked, challenge: randomBytes(32).toString('base64url') }),
      409,
    ],
    ['for another site', (asked) => ({ ...asked, origin: 'https://countersign.example' }), 400],
    ['for another relying party', (asked) => ({ ...asked, rpId: 'example' }), 400],
    ['without verifying the person', (asked) => ({ ...asked, isVerified: false }), 400],
  ])('is not registered %s', async (_what, changed, status) => {
    const { asked, send } = await registration(inboxOf('carol'));
    const authenticator = new Authenticator();
    expect((await send(authenticator.create(changed(asked)))).status).toBe(status);
    expect(await count(authenticator.id)).toBe(0);
  });

  it('is not registered by an answer for another person, nor twice, nor after five minutes', async () => {
    const [mine, theirs] = [await registration(inboxOf('carol')), await registration(inboxOf('bob'))];
    const authenticator = new Authenticator();
    const answer = authenticator.create(mine.asked);
    expect((await theirs.send(answer)).status).toBe(409);
    expect((await mine.send(answer)).status).toBe(303);
    expect((await mine.send(answer)).status).toBe(409);
    expect((await theirs.send(authenticator.create(theirs.asked))).status).toBe(409);
    const { rows } = await query('SELECT subject FROM approvals.passkey WHERE id = $1', authenticator.id);
    expect(rows).toEqual([{ subject: 'carol' }]);
    const late = await registration(inboxOf('carol'));
    await query(
      `UPDATE approvals.passkey_challenge SET expires_at = clock_timestamp() WHERE nonce = $1`,
      late.asked.challenge,
    );
    expect((await late.send(new Authenticator().create(late.asked))).status).toBe(409);
  });

  it('has a name that its person changes, and is removed by them or by an overseer, once', async () => {
    const authenticator = await registered(inboxOf('bob'));
    const { browser, origin } = inboxOf('bob');
    const page = async (inbox: Inbox, path = '/passkeys') => (await inbox.browser.go(`${inbox.origin}${path}`)).text();
    const csrfOf = async (inbox: Inbox) => /name="csrfToken" value="([^"]+)"/.exec(await page(inbox))?.[1] ?? '';
    const csrfToken = await csrfOf(inboxOf('bob'));
    const rename = (name: string) => browser.go(`${origin}/passkeys/${authenticator.id}/rename`, { csrfToken, name });
    expect((await rename('Old\u202ephone')).status).toBe(400);
    expect((await rename('Old phone')).status).toBe(303);
    expect(await page(inboxOf('bob'))).toContain('Old phone');

    const removal = { of: 'bob', csrfToken: await csrfOf(inboxOf('alice')) };
    const path = `${origin}/passkeys/${authenticator.id}/revoke`;
    expect((await inboxOf('alice').browser.go(path, removal)).status).toBe(403);
    expect((await inboxOf('alice').browser.go(path, { csrfToken: removal.csrfToken })).status).toBe(404);
    expect((await inboxOf('alice').browser.go(`${origin}/passkeys?of=bob`)).status).toBe(403);
    expect(await page(inboxOf('carol'), '/passkeys?of=bob')).toContain('Old phone');
    const byOverseer = { of: 'bob', csrfToken: await csrfOf(inboxOf('carol')) };
    service.clock.aheadMs = 11 * MINUTE_MS;
    expect((await inboxOf('carol').browser.go(path, byOverseer)).status).toBe(403);
    service.clock.aheadMs = 0;
    expect((await inboxOf('carol').browser.go(path, byOverseer)).status).toBe(303);
    expect(await page(inboxOf('bob'))).toMatch(/Old phone.*removed .* by .*carol/s);
    const { asked, send } = await registration(inboxOf('bob'));
    expect((await send(authenticator.create(asked))).status).toBe(409);
    await expect(query('DELETE FROM approvals.passkey WHERE id = $1', authenticator.id)).rejects.toMatchObject({
      code: 'CS002',
    });
  });

  it('works at one address, and pages at another say so', async () => {
    const request = await open();
    const { browser, origin } = inboxOf('alice');
    for (const path of [`/requests/${request.id}`, '/passkeys/new']) {
      const page = await (await browser.go(path)).text();
      expect(page).toContain(`<a href="${origin}${path}">`);
      expect(page).not.toMatch(/value="approve"|data-passkey-registration/);
    }
  });

  it('is asked for on the page of a person who has none, with a way to register one', async () => {
    const request = await open();
    for (const { id } of (await query(`SELECT id FROM approvals.passkey WHERE subject = 'carol'`)).rows) {
      await query(`UPDATE approvals.passkey SET revoked_at = now() WHERE id = $1 AND revoked_at IS NULL`, id);
    }
    const { page } = await formFor('carol', request);
    expect(page).toContain('<a href="/passkeys">Register a passkey</a>');
    expect(page).not.toContain('value="approve"');
    expect(page).toContain('value="deny"');
  });
});
