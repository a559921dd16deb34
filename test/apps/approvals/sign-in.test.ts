import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import { Browser } from '../../support/browser.ts';

describe('sign-in to the inbox', () => {
  const service = new ApprovalsUnderTest();
  beforeAll(() => service.start());
  afterAll(() => service.stop());

  /** As far as the way back from the issuer; answers the address the issuer sends the browser to. */
  async function begin(browser: Browser, name: string, returnTo = '/requests'): Promise<string> {
    const began = await browser.go(`/sign-in?returnTo=${encodeURIComponent(returnTo)}`);
    const issuer = new Browser(service.config.urls.issuer);
    const who = await issuer.follow(await issuer.go(began.headers.get('location') ?? ''));
    const action = /action="([^"]+)"/.exec(await who.text())?.[1] ?? '';
    const back = await issuer.follow(await issuer.go(action, { person: name }));
    return back.headers.get('location') ?? '';
  }

  it('begins with PKCE, state and nonce', async () => {
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

  it.each([
    ['/requests?status=ended', '/requests?status=ended'],
    ['//evil.test/x', '/'],
    ['https://evil.test/', '/'],
    ['/\\evil.test', '/'],
    ['javascript:alert(1)', '/'],
  ])('brings people who came from %s to %s', async (returnTo, expected) => {
    const browser = new Browser(service.url);
    const arrived = await browser.go(await begin(browser, 'alice', returnTo));
    expect([arrived.status, arrived.headers.get('location')]).toEqual([303, expected]);
  });

  it('gives the session a new id', async () => {
    const browser = new Browser(service.url);
    const back = await begin(browser, 'alice');
    const before = browser.cookie('countersign_approvals');
    await browser.go(back);
    expect(before).toBeTruthy();
    expect(browser.cookie('countersign_approvals')).not.toBe(before);
    const { rows } = await service.database.pool.query('SELECT sid FROM approvals.session');
    const sidOf = (cookie = '') => decodeURIComponent(cookie).slice(2).split('.')[0];
    expect(rows.map(({ sid }: { sid: string }) => sid)).not.toContain(sidOf(before));
  });

  it('is finished once, and in the browser that began it', async () => {
    const browser = new Browser(service.url);
    const back = await begin(browser, 'alice');
    expect((await new Browser(service.url).go(back)).status).toBe(400);
    expect((await browser.go(back)).status).toBe(303);
    const other = new Browser(service.url);
    await other.go('/sign-in');
    expect((await other.go(back)).status).toBe(400);
    expect((await other.go('/requests')).status).toBe(303);
  });

  it('is refused with a forged state', async () => {
    const browser = new Browser(service.url);
    const back = new URL(await begin(browser, 'alice'));
    back.searchParams.set('state', 'forged');
    expect((await browser.go(back.href)).status).toBe(400);
    expect((await browser.go('/requests')).status).toBe(303);
  });

  it('ends with sign-out, which needs the token of the session', async () => {
    const browser = await service.signIn('alice');
    const page = await (await browser.go('/requests')).text();
    expect((await browser.go('/sign-out', {})).status).toBe(403);
    expect((await browser.go('/requests')).status).toBe(200);
    const cookie = browser.cookie('countersign_approvals');
    const csrfToken = /name="csrfToken" value="([^"]+)"/.exec(page)?.[1] ?? '';
    const out = await browser.go('/sign-out', { csrfToken });
    expect([out.status, await out.text()]).toEqual([200, expect.stringContaining('You are signed out')]);
    expect((await browser.go('/requests')).status).toBe(303);
    // The old cookie opens nothing either.
    const old = await service.fetch('/requests', {
      headers: { cookie: `countersign_approvals=${cookie}`, accept: 'text/html' },
    });
    expect(old.status).toBe(303);
  });

  it('survives a restart of the service', async () => {
    const browser = await service.signIn('alice');
    await service.restart();
    expect((await browser.go('/requests')).status).toBe(200);
  });
});
