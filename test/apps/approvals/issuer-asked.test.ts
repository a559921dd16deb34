import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import type { Browser } from '../../support/browser.ts';
import { altered, issuerAnswers } from '../../support/issuer-answers.ts';
import { csrfTokenIn } from '../../support/pages.ts';
import { waitFor } from '../../support/wait-for.ts';

const USERINFO = '/me';
const TOKEN = '/token';
const refused = (status: number, challenge?: string) =>
  new Response('{}', { status, headers: challenge === undefined ? {} : { 'www-authenticate': challenge } });

describe("the check of a person's roles at the issuer", () => {
  const service = new ApprovalsUnderTest();
  const issuer = issuerAnswers();
  beforeAll(() => service.start());
  afterAll(() => service.stop());
  afterEach(() => issuer.asItIs());

  const status = async (browser: Browser) => {
    const answer = await browser.go('/requests');
    return answer.status === 303 ? answer.headers.get('location') : answer.status;
  };
  const SIGN_IN = '/sign-in?returnTo=%2Frequests';
  /** A vote from a page that was read while the issuer answered. */
  async function voter(browser: Browser) {
    const request = await service.open();
    const csrfToken = csrfTokenIn(await (await browser.go(`/requests/${request.id}`)).text());
    const form = { csrfToken, callDigest: request.callDigest, verdict: 'approve' };
    return {
      vote: () => browser.go(`/requests/${request.id}/votes`, form),
      state: async () => (await service.status(request.id)).body.task.status as string,
    };
  }

  it('happens once while an answer is fresh, however many requests arrive at once', async () => {
    const alice = await service.signIn('alice');
    issuer.forget();
    for (let visit = 0; visit < 3; visit += 1) expect(await status(alice)).toBe(200);
    expect(issuer.count(USERINFO)).toBe(0);
    await service.passBound();
    expect(await Promise.all(Array.from({ length: 6 }, () => status(alice)))).toEqual(Array(6).fill(200));
    expect([issuer.count(USERINFO), issuer.count(TOKEN)]).toEqual([1, 0]);
  });

  it('refreshes an expired access token once for all simultaneous requests', async () => {
    const over = new Set<string | null>();
    issuer.answer(USERINFO, async (real, { headers }) => {
      const token = headers.get('authorization');
      if (over.has(token)) return refused(401, 'Bearer error="invalid_token"');
      over.add(token);
      return real();
    });
    const alice = await service.signIn('alice');
    for (let round = 0; round < 3; round += 1) {
      issuer.forget();
      await service.passBound();
      expect(await Promise.all(Array.from({ length: 4 }, () => status(alice)))).toEqual(Array(4).fill(200));
      expect(issuer.count(TOKEN)).toBe(1);
    }
  });

  it.each([
    ['fails', () => Promise.reject(new TypeError('fetch failed'))],
    ['answers 500', () => refused(500)],
    ['answers 503 with a challenge', () => refused(503, 'Bearer')],
    ['answers with too many requests', () => refused(429)],
    ['answers with a page', () => new Response('<html>', { headers: { 'content-type': 'text/html' } })],
    ['answers about another person', altered({ sub: 'mallory', roles: ['approver'] })],
  ])('shows no page and counts no vote while the issuer %s, and continues once it answers', async (_how, answer) => {
    const alice = await service.signIn('alice');
    const { vote, state } = await voter(alice);
    await service.passBound();
    issuer.answer(USERINFO, answer);
    const answered = await vote();
    expect([answered.status, answered.headers.get('retry-after')]).toEqual([503, '5']);
    expect(await answered.text()).toMatch(
      /identity provider does not answer.*Try again in a moment, or sign in again/s,
    );
    expect([await status(alice), await state()]).toEqual([503, 'pending']);
    issuer.asItIs();
    expect((await vote()).status).toBe(303);
    expect(await state()).toBe('approved');
  });

  it.each([
    ['calls the token invalid', () => refused(401, 'Bearer error="invalid_token"')],
    ['refuses without a challenge', () => refused(401)],
    ['answers forbidden', () => refused(403, 'Bearer error="insufficient_scope"')],
  ])('ends the session when the issuer %s and gives no new token', async (_how, answer) => {
    const alice = await service.signIn('alice');
    const { vote, state } = await voter(alice);
    await service.passBound();
    issuer.answer(USERINFO, answer);
    issuer.answer(TOKEN, () => Response.json({ error: 'invalid_grant' }, { status: 400 }));
    const answered = await vote();
    expect([answered.status, await answered.text()]).toEqual([401, expect.stringContaining('You are not signed in')]);
    issuer.asItIs();
    expect([await status(alice), await state()]).toEqual([SIGN_IN, 'pending']);
  });

  it('survives that the database ends the connection meanwhile', async () => {
    const { pool } = service.database;
    const waiting = `FROM pg_stat_activity WHERE state = 'idle in transaction' AND datname = current_database()`;
    const alice = await service.signIn('alice');
    await service.passBound();
    issuer.answer(USERINFO, async (real) => {
      expect((await pool.query(`SELECT pg_terminate_backend(pid) ${waiting}`)).rows).toHaveLength(1);
      await waitFor(async () => (await pool.query(`SELECT pid ${waiting}`)).rowCount === 0);
      return real();
    });
    expect(await status(alice)).toBe(503);
    issuer.asItIs();
    expect(await status(alice)).toBe(200);
  });

  it('ends no session when our own client secret is wrong', async () => {
    const alice = await service.signIn('alice');
    await service.passBound();
    issuer.answer(USERINFO, () => refused(401));
    issuer.answer(TOKEN, () => Response.json({ error: 'invalid_client' }, { status: 401 }));
    expect(await status(alice)).toBe(503);
    issuer.asItIs();
    expect(await status(alice)).toBe(200);
  });

  describe('without roles from UserInfo', () => {
    const silent = altered({ roles: undefined });

    it('uses a new ID token, and from then on only that token', async () => {
      issuer.answer(USERINFO, silent);
      const alice = await service.signIn('alice');
      const people = service.config.identity.people;
      const person = people.find(({ name }) => name === 'alice');
      issuer.forget();
      await service.passBound();
      expect(await status(alice)).toBe(200);
      expect([issuer.count(TOKEN), issuer.count(USERINFO)]).toEqual([1, 0]);
      if (person !== undefined) person.roles = ['guest'];
      expect(await status(alice)).toBe(200);
      await service.passBound();
      expect(await status(alice)).toBe(403);
      if (person !== undefined) person.roles = ['approver'];
      // Once the role is back, access returns without a new sign-in.
      await service.passBound();
      expect(await status(alice)).toBe(200);
    });

    it('asks for a new sign-in when there is no refresh token', async () => {
      issuer.answer(USERINFO, silent);
      issuer.answer(TOKEN, altered({ refresh_token: undefined }));
      const alice = await service.signIn('alice');
      expect(await status(alice)).toBe(200);
      await service.passBound();
      expect(await status(alice)).toBe(SIGN_IN);
    });
  });

  it.each([
    ['and lets them in at once', 'olivia', 'approver', 200],
    ['and refuses them at once', 'alice', 'guest', 403],
  ])('prefers UserInfo from the first request, where its roles differ from the ID token, %s', async (...given) => {
    const [, name, role, expected] = given;
    issuer.answer(USERINFO, altered({ roles: [role] }));
    const person = await service.signIn(name);
    expect(await status(person)).toBe(expected);
    await service.passBound();
    expect(await status(person)).toBe(expected);
  });

  it('stores its tokens sealed', async () => {
    await service.signIn('alice');
    const { rows } = await service.database.pool.query('SELECT sess::text AS sess, proof FROM approvals.session');
    for (const { sess, proof } of rows) {
      expect(sess).not.toMatch(/access_token|refresh_token|eyJ/);
      expect(proof.split('.')[0]).toBe(Buffer.from('{"alg":"dir","enc":"A256GCM"}').toString('base64url'));
    }
  });

  it('of a program is refused while the keys of the issuer cannot be read, and changes nothing', async () => {
    const request = await service.open();
    await service.token('alice');
    await service.stopIssuer();
    await service.restart();
    const { status: code, headers, body } = await service.vote('alice', request, 'approve');
    expect([code, headers.get('retry-after'), body.title]).toEqual([503, '5', 'The identity provider does not answer']);
    await service.startIssuer();
    expect((await service.vote('alice', request, 'approve')).status).toBe(200);
  });
});
