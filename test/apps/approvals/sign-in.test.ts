import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import { Browser } from '../../support/browser.ts';
import { csrfTokenIn } from '../../support/pages.ts';
import { beginSignIn, signInTo, signOutAtIssuer } from '../../support/signing-in.ts';

const COOKIE = 'countersign_approvals';
const ATTEMPT = `${COOKIE}_sign_in_`;

describe('sign-in to the inbox', () => {
  const service = new ApprovalsUnderTest();
  beforeAll(() => service.start());
  afterAll(() => service.stop());

  const begin = (site: Browser, name: string, returnTo = '/requests') =>
    beginSignIn({ site, atIssuer: new Browser(service.config.urls.issuer), name, returnTo });
  const sessions = async () => (await service.database.pool.query('SELECT sid, expire FROM approvals.session')).rows;
  const attemptsOf = (browser: Browser) => browser.cookieNames.filter((name) => name.startsWith(ATTEMPT));

  it('starts with PKCE, state and nonce', async () => {
    const began = await new Browser(service.url).go('/sign-in');
    const address = new URL(began.headers.get('location') ?? '');
    expect(address.origin).toBe(service.config.urls.issuer);
    const asked = Object.fromEntries(address.searchParams);
    expect(asked).toMatchObject({
      client_id: 'countersign-web',
      response_type: 'code',
      code_challenge_method: 'S256',
      redirect_uri: `${service.url}/oidc/callback`,
    });
    for (const name of ['state', 'nonce', 'code_challenge']) expect(asked[name]?.length).toBeGreaterThan(20);
  });

  it('stores no data for a browser that has not signed in, at any address', async () => {
    const before = (await sessions()).length;
    const browser = new Browser(service.url);
    for (const path of ['/sign-in?returnTo=/x', '/requests', '/delegations', '/oidc/callback?state=x', '/signed-out']) {
      await browser.go(path);
      await browser.go(path, undefined, { cookie: `${COOKIE}=s%3Amade-up.signature` });
    }
    await browser.go('/sign-out', {});
    await browser.go('/requests/arq_x/votes', { verdict: 'approve' });
    expect(await sessions()).toHaveLength(before);
  });

  it("encrypts its state in the browser's cookie", async () => {
    const browser = new Browser(service.url);
    const began = await browser.go('/sign-in?returnTo=/requests?status=denied');
    const [name = ''] = attemptsOf(browser);
    const line = began.headers.getSetCookie().find((one) => one.startsWith(name)) ?? '';
    expect(line).toMatch(/; Max-Age=900; Path=\/; .*HttpOnly; SameSite=Lax$/);
    // A JWE: its header says how it is sealed, and the rest is ciphertext.
    const [header = '', ...rest] = (browser.cookie(name) ?? '').split('.');
    expect(JSON.parse(Buffer.from(header, 'base64url').toString())).toEqual({ alg: 'dir', enc: 'A256GCM' });
    const opened = rest.map((part) => Buffer.from(part, 'base64url').toString('latin1')).join(' ');
    expect(opened).not.toMatch(/requests|denied|nonce/);
  });

  it('gives the session a new id', async () => {
    const browser = await service.signIn('alice');
    const before = browser.cookie(COOKIE);
    await browser.go(await begin(browser, 'alice'));
    expect(before).toBeTruthy();
    expect(browser.cookie(COOKIE)).not.toBe(before);
    const sidOf = (cookie = '') => decodeURIComponent(cookie).slice(2).split('.')[0];
    expect((await sessions()).map(({ sid }) => sid)).not.toContain(sidOf(before));
  });

  it('can be finished once, in the browser that began it', async () => {
    const browser = new Browser(service.url);
    const back = await begin(browser, 'alice');
    expect((await new Browser(service.url).go(back)).status).toBe(400);
    expect((await browser.go(back)).status).toBe(303);
    expect((await browser.go(back)).status).toBe(400);
    const other = new Browser(service.url);
    await other.go('/sign-in');
    expect((await other.go(back)).status).toBe(400);
    expect((await other.go('/requests')).status).toBe(303);
  });

  it('works in several tabs at once, and keeps the forms open in them valid', async () => {
    const browser = new Browser(service.url);
    const pages = ['/requests?status=approved', '/requests?status=denied', '/delegations'];
    const ways: string[] = [];
    for (const page of pages) ways.push(await begin(browser, 'alice', page));
    let csrfToken = '';
    for (const [index, back] of [...ways.entries()].reverse()) {
      const arrived = await browser.go(back);
      expect([arrived.status, arrived.headers.get('location')]).toEqual([303, pages[index]]);
      csrfToken ||= csrfTokenIn(await (await browser.go(pages[index] ?? '')).text());
    }
    expect(attemptsOf(browser)).toEqual([]);
    // The token of the first tab, whose session no longer exists.
    const request = await service.open();
    const vote = { verdict: 'deny', callDigest: request.callDigest, csrfToken };
    expect((await browser.go(`/requests/${request.id}/votes`, vote)).status).toBe(303);
  });

  it('gives the next person who signs in another form token', async () => {
    const browser = await service.signIn('alice');
    const token = async () => csrfTokenIn(await (await browser.go('/requests')).text());
    const before = await token();
    await browser.go(await begin(browser, 'bob'));
    expect(await token()).not.toBe(before);
  });

  it('keeps the five latest attempts in a browser', async () => {
    const browser = new Browser(service.url);
    const ways: string[] = [];
    for (let tab = 0; tab < 7; tab += 1) ways.push(await begin(browser, 'alice', `/requests/tab-${tab}`));
    expect(attemptsOf(browser)).toHaveLength(5);
    const arrived = [];
    for (const back of ways) arrived.push((await browser.go(back)).status);
    expect(arrived).toEqual([400, 400, 303, 303, 303, 303, 303]);
  });

  it('refuses a forged state, an altered cookie and a cookie for another state', async () => {
    const browser = new Browser(service.url);
    const back = new URL(await begin(browser, 'alice'));
    const [name = ''] = attemptsOf(browser);
    const sealed = browser.cookie(name) ?? '';
    const state = back.searchParams.get('state') ?? '';
    const at = Math.floor(sealed.length / 2);
    const altered = `${sealed.slice(0, at)}${sealed[at] === 'A' ? 'B' : 'A'}${sealed.slice(at + 1)}`;
    const other = new Browser(service.url);
    await begin(other, 'alice');
    const foreign = other.cookie(attemptsOf(other)[0] ?? '') ?? '';
    const forged = new URL(back);
    forged.searchParams.set('state', `${state.slice(0, 16)}${'x'.repeat(state.length - 16)}`);
    for (const [address, cookie] of [
      [forged.href, `${name}=${sealed}`],
      [back.href, `${name}=${altered}`],
      [back.href, `${name}=${foreign}`],
      [back.href, ''],
    ] as const) {
      expect((await new Browser(service.url).go(address, undefined, { cookie })).status).toBe(400);
    }
  });

  it('ends with a sign-out here and at the issuer, which needs the token of the session', async () => {
    const { site, atIssuer } = await signInTo({ site: service.url, issuer: service.config.urls.issuer }, 'alice');
    const page = await (await site.go('/requests')).text();
    expect((await site.go('/sign-out', {})).status).toBe(403);
    expect((await site.go('/requests')).status).toBe(200);
    const cookie = site.cookie(COOKIE);
    const out = await site.go('/sign-out', { csrfToken: csrfTokenIn(page) });
    expect([out.status, await out.text()]).toEqual([200, expect.stringContaining('You are signed out here')]);
    expect(site.cookieNames).not.toContain(COOKIE);
    expect((await site.go('/requests')).status).toBe(303);
    // The old cookie is invalid as well.
    const old = await service.fetch('/requests', { headers: { cookie: `${COOKIE}=${cookie}`, accept: 'text/html' } });
    expect(old.status).toBe(303);

    const address = new URL(/^0; url=(.*)$/.exec(out.headers.get('refresh') ?? '')?.[1] ?? '');
    expect(address.origin).toBe(service.config.urls.issuer);
    expect(Object.fromEntries(address.searchParams)).toMatchObject({
      client_id: 'countersign-web',
      id_token_hint: expect.stringContaining('.'),
      post_logout_redirect_uri: `${service.url}/signed-out`,
    });
    const back = await signOutAtIssuer(atIssuer, address.href);
    expect([back.status, back.headers.get('location')]).toEqual([303, `${service.url}/signed-out`]);
    expect(await (await site.go('/signed-out')).text()).toContain('You are signed out');
  });

  it('ends with a sign-out here while the issuer is down', async () => {
    const browser = await service.signIn('alice');
    const csrfToken = csrfTokenIn(await (await browser.go('/requests')).text());
    await service.restart();
    await service.stopIssuer();
    const out = await browser.go('/sign-out', { csrfToken });
    expect([out.status, out.headers.get('refresh')]).toEqual([200, null]);
    expect(await out.text()).toContain('You are signed out');
    expect((await browser.go('/requests')).status).toBe(303);
    await service.startIssuer();
  });

  it('ends a fixed time after the sign-in, used or not', async () => {
    const browser = await service.signIn('alice');
    const [before] = (await sessions()).slice(-1);
    for (const path of ['/requests', '/delegations']) {
      const answer = await browser.go(path);
      expect([answer.status, answer.headers.getSetCookie()]).toEqual([200, []]);
    }
    const [after] = (await sessions()).slice(-1);
    expect(after).toEqual(before);
    await service.database.pool.query(`UPDATE approvals.session SET expire = now() - interval '1 second'`);
    expect((await browser.go('/requests')).headers.get('location')).toMatch(/^\/sign-in/);
  });

  it('survives a restart of the service', async () => {
    const browser = await service.signIn('alice');
    await service.restart();
    expect((await browser.go('/requests')).status).toBe(200);
  });
});
