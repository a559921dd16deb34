import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import express from 'express';
import { pino } from 'pino';
import { demandFreshSignIn } from '../../../apps/shared/auth/fresh-sign-in.ts';
import { refusalHandler } from '../../../apps/shared/pages/refusal-page.tsx';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import { Browser } from '../../support/browser.ts';
import { issuerAnswers } from '../../support/issuer-answers.ts';
import { serve } from '../../support/serve.ts';
import { beginSignIn, signInTo } from '../../support/signing-in.ts';

const COOKIE = 'countersign_approvals';
const now = () => Math.floor(Date.now() / 1_000);

describe('a sign-in that asks the issuer to have the person prove anew who they are', () => {
  const service = new ApprovalsUnderTest();
  const issuer = issuerAnswers();
  beforeAll(() => service.start());
  afterAll(() => service.stop());
  afterEach(() => issuer.asItIs());

  const signedInAt = async (site: Browser): Promise<unknown> => {
    const sid = decodeURIComponent(site.cookie(COOKIE) ?? '')
      .slice(2)
      .split('.')[0];
    const text = `SELECT sess->'person'->>'signedInAt' AS at FROM approvals.session WHERE sid = $1`;
    return (await service.database.pool.query(text, [sid])).rows[0]?.at;
  };
  const enter = (name = 'alice') => signInTo({ site: service.url, issuer: service.config.urls.issuer }, name);
  /** The ID token of the next sign-ins has these claims. */
  const claims = (changed: object) =>
    issuer.answer('/token', async (real) => {
      const tokens = (await (await real()).json()) as { id_token: string };
      return Response.json({ ...tokens, id_token: await service.resigned(tokens.id_token, changed) });
    });

  it('asks for a sign-in without regard to the one that the issuer remembers', async () => {
    const began = await new Browser(service.url).go('/sign-in?returnTo=/requests&fresh=1');
    const asked = new URL(began.headers.get('location') ?? '').searchParams;
    expect([asked.get('prompt'), asked.get('max_age')]).toEqual(['login', '0']);
    const usual = await new Browser(service.url).go('/sign-in?returnTo=/requests');
    const usually = new URL(usual.headers.get('location') ?? '').searchParams;
    expect([usually.get('prompt'), usually.get('max_age')]).toEqual([null, null]);
  });

  it('returns to the page, and the session knows the new time', async () => {
    claims({ auth_time: now() - 5_000 });
    const { site, atIssuer } = await enter();
    expect(Number(await signedInAt(site))).toBeLessThan(now() - 4_000);
    issuer.asItIs();
    const back = await beginSignIn({ site, atIssuer, name: 'alice', returnTo: '/requests/arq_x', fresh: true });
    const arrived = await site.go(back);
    expect([arrived.status, arrived.headers.get('location')]).toEqual([303, '/requests/arq_x']);
    expect(Number(await signedInAt(site))).toBeGreaterThan(now() - 1_000);
  });

  it.each([
    ['says that it signed the person in before', { auth_time: now() - 3_600 }],
    ['does not say when it signed the person in', { auth_time: undefined }],
    ['names a time in the future', { auth_time: now() + 3_600 }],
  ])('is refused, and leaves the session as it was, when the issuer %s', async (_what, changed) => {
    const { site, atIssuer } = await enter();
    const before = [site.cookie(COOKIE), await signedInAt(site)];
    claims(changed);
    const back = await beginSignIn({ site, atIssuer, name: 'alice', returnTo: '/requests/arq_x', fresh: true });
    const answer = await site.go(back);
    expect(answer.status).toBe(403);
    const page = await answer.text();
    expect(page).toMatch(/did not sign you in again.*Nothing was decided or changed.*auth_time/s);
    expect(page).toContain('href="/sign-in?returnTo=%2Frequests%2Farq_x&amp;fresh=1"');
    expect([site.cookie(COOKIE), await signedInAt(site)]).toEqual(before);
    expect((await site.go('/requests')).status).toBe(200);
  });

  it('is refused, and leaves the session as it was, when the browser drops the demand on its way', async () => {
    const { site, atIssuer } = await enter();
    const began = new URL((await site.go('/sign-in?fresh=1')).headers.get('location') ?? '');
    for (const name of ['prompt', 'max_age']) began.searchParams.delete(name);
    // As an issuer answers whose session in this browser goes on.
    claims({ auth_time: now() - 3_600 });
    const before = site.cookie(COOKIE);
    const who = await atIssuer.follow(await atIssuer.go(began.href));
    const action = /action="([^"]+)"/.exec(await who.text())?.[1] ?? '';
    const back = await atIssuer.follow(await atIssuer.go(action, { person: 'alice' }));
    expect((await site.go(back.headers.get('location') ?? '')).status).toBe(403);
    expect(site.cookie(COOKIE)).toBe(before);
  });

  it('is refused when another person signs in, who does not get the session', async () => {
    const { site, atIssuer } = await enter();
    const before = site.cookie(COOKIE);
    const back = await beginSignIn({ site, atIssuer, name: 'bob', fresh: true });
    const answer = await site.go(back);
    expect([answer.status, await answer.text()]).toEqual([
      403,
      expect.stringMatching(/signed in as another person.*Sign in again as Alice Approver/s),
    ]);
    expect(site.cookie(COOKIE)).toBe(before);
    expect(await (await site.go('/requests')).text()).toContain('Alice Approver');
  });

  it('is refused when it comes with an error, as after a silent attempt', async () => {
    const { site } = await enter();
    const began = new URL((await site.go('/sign-in?fresh=1')).headers.get('location') ?? '');
    const back = new URL('/oidc/callback', service.url);
    back.search = new URLSearchParams({
      error: 'login_required',
      state: began.searchParams.get('state') ?? '',
      iss: service.config.urls.issuer,
    }).toString();
    expect((await site.go(back.href)).status).toBe(400);
    expect((await site.go('/requests')).status).toBe(200);
  });
});

describe('a page or action that needs a recent sign-in', () => {
  const at = 1_800_000_000;
  /** The answer for a session whose person signed in this many seconds ago. */
  async function answer(ago: number | undefined, path: string, init: RequestInit = {}) {
    const app = express();
    app.use((request, _response, next) => {
      const signedInAt = ago === undefined ? {} : { signedInAt: at - ago };
      const person = { issuer: 'https://issuer.test', subject: 'alice', name: 'Alice', issuedAt: at, ...signedInAt };
      Object.assign(request, { session: { person } });
      next();
    });
    app.all('/{*path}', (request, response) => {
      const demand = { freshSeconds: 300, nowMs: at * 1_000, page: '/requests/arq_1' };
      if (demandFreshSignIn(request, response, demand)) response.send('done');
    });
    app.use(refusalHandler({ section: 'Test', log: pino({ level: 'silent' }) }));
    const server = await serve(app);
    const headers = { accept: 'text/html', ...init.headers };
    const found = await fetch(`${server.url}${path}`, { redirect: 'manual', ...init, headers });
    const text = await found.text();
    await server.close();
    return { status: found.status, location: found.headers.get('location'), text };
  }

  it('is served while the sign-in is recent', async () => {
    for (const ago of [0, 300]) expect(await answer(ago, '/x')).toMatchObject({ status: 200, text: 'done' });
  });

  it('sends a person who opens it to the sign-in, and back', async () => {
    for (const ago of [301, undefined]) {
      expect(await answer(ago, '/x?a=1')).toMatchObject({
        status: 303,
        location: '/sign-in?returnTo=%2Fx%3Fa%3D1&fresh=1',
      });
    }
  });

  it('carries out no form and no request of a program', async () => {
    const refused = { status: 403, text: expect.stringContaining('Sign in again') };
    expect(await answer(301, '/x', { method: 'POST' })).toMatchObject(refused);
    expect(await answer(301, '/x', { headers: { accept: 'application/json' } })).toMatchObject(refused);
    expect(await answer(0, '/x', { headers: { authorization: 'Bearer x' } })).toMatchObject(refused);
  });
});
