import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { generateKeyPair, SignJWT } from 'jose';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import type { Browser } from '../../support/browser.ts';
import { signInTo, signOutAtIssuer } from '../../support/signing-in.ts';

const EVENT = 'http://schemas.openid.net/event/backchannel-logout';
const now = () => Math.floor(Date.now() / 1_000);

describe('back-channel logout', () => {
  const service = new ApprovalsUnderTest();
  beforeAll(() => service.start());
  afterAll(() => service.stop());

  const arrive = (name: string) => signInTo({ site: service.url, issuer: service.config.urls.issuer }, name);
  const isIn = async (browser: Browser) => (await browser.go('/requests')).status === 200;
  const tell = (logoutToken: string) =>
    fetch(`${service.url}/oidc/back-channel-logout`, {
      method: 'POST',
      body: new URLSearchParams({ logout_token: logoutToken }),
    });
  const claims = (changes: Record<string, unknown> = {}): Record<string, unknown> => ({
    aud: 'countersign-web',
    sub: 'alice',
    jti: crypto.randomUUID(),
    events: { [EVENT]: {} },
    ...changes,
  });
  const token = (changes: Record<string, unknown> = {}, typ = 'logout+jwt') =>
    service.tokenWith(claims(changes), { typ });
  const sidOf = async (name: string) => {
    const { rows } = await service.database.pool.query(
      `SELECT sess->'person'->>'sid' AS sid FROM approvals.session WHERE sess->'person'->>'subject' = $1`,
      [name],
    );
    return rows.map(({ sid }) => sid as string);
  };

  it('ends the sessions of that person here at once, and no other session', async () => {
    const [alice, bob] = [await arrive('alice'), await arrive('bob')];
    await signOutAtIssuer(alice.atIssuer);
    expect([await isIn(alice.site), await isIn(bob.site)]).toEqual([false, true]);
  });

  it('keeps a session ended that a request was using at that time', async () => {
    const { site } = await arrive('alice');
    const requests = Array.from({ length: 8 }, () => site.go('/requests'));
    expect((await tell(await token())).status).toBe(200);
    await Promise.all(requests);
    expect(await isIn(site)).toBe(false);
    expect(await sidOf('alice')).toEqual([]);
  });

  it('accepts a subject, a session or both', async () => {
    const [one, two] = [(await arrive('alice')).site, (await arrive('alice')).site];
    const [sid] = await sidOf('alice');
    expect((await tell(await token({ sid, sub: 'bob' }))).status).toBe(200);
    expect([await isIn(one), await isIn(two)]).toEqual([true, true]);
    expect((await tell(await token({ sid, sub: undefined }))).status).toBe(200);
    expect([await isIn(one), await isIn(two)].filter(Boolean)).toHaveLength(1);
    expect((await tell(await token({}))).status).toBe(200);
    expect([await isIn(one), await isIn(two)]).toEqual([false, false]);
  });

  it('does not end sessions that began after a token that is sent again', async () => {
    const again = await token({ iat: now() - 5 });
    expect((await tell(again)).status).toBe(200);
    const { site } = await arrive('alice');
    expect((await tell(again)).status).toBe(200);
    expect(await isIn(site)).toBe(true);
  });

  it('works for an issuer whose clock has fractions of a second', async () => {
    const { site } = await arrive('alice');
    expect((await tell(await token({ iat: now() + 1.5 }))).status).toBe(200);
    expect(await isIn(site)).toBe(false);
  });

  const NONE: readonly (readonly [string, Record<string, unknown>, string?])[] = [
    ['of another issuer', { iss: 'https://elsewhere.example' }],
    ['for another client', { aud: 'another-client' }],
    ['that has expired', { exp: now() - 120 }],
    ['without an expiry', { exp: undefined }],
    ['that was issued long ago', { iat: now() - 600 }],
    ['that was issued in the future', { iat: now() + 600 }],
    ['without an issue time', { iat: undefined }],
    ['without an id', { jti: undefined }],
    ['with a nonce, as ID tokens have one', { nonce: 'n' }],
    ['without an event', { events: undefined }],
    ['of another event', { events: { 'https://example.com/event': {} } }],
    ['whose event is no object', { events: { [EVENT]: true } }],
    ['without a subject or session', { sub: undefined }],
    ['that is an access token', {}, 'at+jwt'],
    ['that is another security event', {}, 'secevent+jwt'],
  ];
  it.each(NONE)('refuses a token %s', async (...[, changes, typ]) => {
    const { site } = await arrive('alice');
    const answer = await tell(await token(changes, typ));
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([400, 'no-store']);
    expect(await answer.json()).toMatchObject({ error: 'invalid_request' });
    expect(await isIn(site)).toBe(true);
  });

  it('refuses a token that the issuer did not sign, and a text that is not a token', async () => {
    const { site } = await arrive('alice');
    const { privateKey } = await generateKeyPair('ES256');
    const iss = service.config.urls.issuer;
    const times = { iss, iat: now(), exp: now() + 100 };
    const forged = new SignJWT({ ...claims(), ...times }).setProtectedHeader({ alg: 'ES256', typ: 'logout+jwt' });
    const unsigned = [{ alg: 'none' }, { ...claims(), ...times }].map((part) =>
      Buffer.from(JSON.stringify(part)).toString('base64url'),
    );
    const secret = new TextEncoder().encode(service.secrets.oidcClientSecret);
    const keyed = new SignJWT({ ...claims(), ...times }).setProtectedHeader({ alg: 'HS256' }).sign(secret);
    for (const one of [await forged.sign(privateKey), `${unsigned.join('.')}.`, await keyed, 'no token', '']) {
      expect((await tell(one)).status).toBe(400);
    }
    expect(await isIn(site)).toBe(true);
  });
});
