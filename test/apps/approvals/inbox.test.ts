// cspell:ignore nosniff
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import { csrfTokenIn } from '../../support/pages.ts';
import { Browser } from '../../support/browser.ts';

describe('inbox', () => {
  const service = new ApprovalsUnderTest();
  let alice: Browser;
  beforeAll(async () => {
    await service.start();
    alice = await service.signIn('alice');
  });
  afterAll(() => service.stop());

  const text = async (browser: Browser, path: string) => (await browser.go(path)).text();
  const field = (page: string, name: string) => new RegExp(`name="${name}" value="([^"]*)"`).exec(page)?.[1] ?? '';
  const statusOf = async (id: string) => (await service.status(id)).body.task.status as string;

  describe('pages', () => {
    it('lists open requests with their requesters, and drops them once they end', async () => {
      const request = await service.open({ tool: 'bank__transfer', subject: 'carol', agent: 'ledger-bot' });
      const before = await text(alice, '/requests');
      expect(before).toContain(`href="/requests/${request.id}?from=status%3Dpending"`);
      expect(before).toMatch(/bank__transfer.*carol.*through.*ledger-bot/s);
      await service.vote('alice', request, 'deny');
      expect(await text(alice, '/requests')).not.toContain(request.id);
      expect(await text(alice, '/requests?status=ended')).toContain(request.id);
    });

    it('refuses an address that cannot be read', async () => {
      const { status, body } = await service.asPerson('alice', '/requests/%E0%A4%A');
      expect({ status, body }).toMatchObject({ status: 400, body: { title: 'This address cannot be read' } });
    });

    it('shows the complete call, the requester, the deadline and the reason', async () => {
      const args = { content: 'line\n'.repeat(2_000), path: '/srv/production.yaml' };
      const { id, callDigest } = await service.open({ arguments: args, subject: 'carol', agent: 'release-bot' });
      const page = await text(alice, `/requests/${id}`);
      expect(page).toContain('/srv/production.yaml');
      expect(page.match(/>line</g)).toHaveLength(2_000);
      expect((await text(alice, `/requests/${id}?view=exact`)).match(/line\\n/g)).toHaveLength(2_000);
      for (const shown of [callDigest, 'carol', 'release-bot', 'writes-need-approval', 'operator_approval']) {
        expect(page).toContain(shown);
      }
      expect(page).toMatch(/Decide before<\/strong> <time datetime="/);
      expect(page).toContain('Writes outside the scratch folder');
    });

    it('keeps digests and codes for the record out of the first sight', async () => {
      const { id } = await service.open();
      const page = await text(alice, `/requests/${id}`);
      const [before = '', record = ''] = page.split('<summary>For the record</summary>');
      expect(before).not.toMatch(/approval_required|sha-256:[0-9a-f]{64}<|operator_approval/);
      expect(record).toMatch(/writes-need-approval.*operator_approval.*approval_required.*sha-256:/s);
    });

    it('says in words what the server of the tool states, and shows the rest as it is', async () => {
      const stating = async (annotations: object) => {
        const resource = { type: 'tool', id: 'bank__pay', properties: { annotations: { ...annotations } } };
        const mapped = { action: { name: 'tools/call' }, resource };
        const { id } = await service.open({ tool: 'bank__pay', mapped });
        const page = await text(alice, `/requests/${id}`);
        return /Its server says, unverified<\/dt><dd>(.*?)<\/dd>/.exec(page)?.[1] ?? '';
      };
      const hints = { readOnlyHint: false, destructiveHint: true, idempotentHint: false };
      expect(await stating(hints)).toBe('changes things, destroys, not repeatable');
      expect(await stating({ ...hints, title: '<b>Safe' })).toMatch(
        /^changes things, destroys, not repeatable <code.*&quot;title&quot;:&quot;&lt;b>Safe/,
      );
      expect(await stating({ title: 'Safe' })).toMatch(/^ <code/);
    });

    it('shows hostile arguments only as text', async () => {
      const markup = '<script>alert(1)</script>';
      const { id } = await service.open({
        tool: 'x__<b>bold</b>',
        subject: '<img src=x onerror=alert(2)>',
        arguments: { [`"><svg onload=alert(3)>`]: markup, file: 'invoice\u202efdp.exe', to: '\u0430cct-991' },
        claims: {
          display: { title: markup, description: '</section><script src=//evil></script>' },
          reason: '<i>why</i>',
        },
      });
      for (const path of [`/requests/${id}`, '/requests']) {
        const page = await text(alice, path);
        expect(page.match(/<script/g)).toHaveLength(1);
        expect(page).not.toMatch(/<(svg|img src=x|b>|i>)/);
        expect(page).not.toContain('\u202e');
      }
      const page = await text(alice, `/requests/${id}`);
      expect(page).toContain('&lt;script>alert(1)&lt;/script>');
      expect(page).toContain('\\u202e');
      expect(page).toContain('Look closely.');
      expect(page).toMatch(/<mark[^>]*>\u0430cct<\/mark>/);
    });

    it('decides with the form, confirms it, and offers no second vote', async () => {
      const request = await service.open();
      const page = await text(alice, `/requests/${request.id}`);
      const answer = await alice.go(`/requests/${request.id}/votes`, {
        csrfToken: field(page, 'csrfToken'),
        callDigest: field(page, 'callDigest'),
        generation: field(page, 'generation'),
        reason: '  as\r\nagreed\u0000 ',
        verdict: 'approve',
      });
      expect([answer.status, answer.headers.get('location')]).toEqual([303, `/requests/${request.id}`]);
      const after = await text(alice, `/requests/${request.id}`);
      expect(after).toContain('You approved this');
      expect(after).toContain('as agreed');
      expect(after).not.toContain('<textarea id="reason"');
      expect(await statusOf(request.id)).toBe('approved');
    });

    it("shows a requester's own requests without a form, and says why", async () => {
      const { id } = await service.open({ subject: 'alice', agent: 'some-agent' });
      const page = await text(alice, `/requests/${id}`);
      expect(page).toContain('You cannot decide this request.');
      expect(page).not.toContain('<textarea id="reason"');
    });

    it('says how a request ended that another approver decided', async () => {
      const request = await service.open();
      await service.vote('bob', request, 'deny', { reason: 'too risky' });
      const page = await text(alice, `/requests/${request.id}`);
      expect(page).toContain('This request has ended.');
      expect(page).toContain('too risky');
    });

    it('answers errors as pages with a next step', async () => {
      const request = await service.open();
      const missing = await alice.go('/requests/arq_AAAAAAAAAAAAAAAAAAAAAA');
      expect([missing.status, await missing.text()]).toEqual([404, expect.stringContaining('To the open requests')]);
      const odd = await alice.go('/requests?status=odd');
      expect([odd.status, await odd.text()]).toEqual([400, expect.stringContaining('There is no such status')]);
      const csrfToken = field(await text(alice, `/requests/${request.id}`), 'csrfToken');
      const mismatch = { csrfToken, verdict: 'approve', callDigest: `sha-256:${'0'.repeat(64)}`, generation: '1' };
      const refused = await alice.go(`/requests/${request.id}/votes`, mismatch);
      expect([refused.status, await refused.text()]).toEqual([
        409,
        expect.stringContaining('The decision is about another call.'),
      ]);
      expect(await statusOf(request.id)).toBe('pending');
      expect((await alice.go('/nowhere')).status).toBe(404);
    });
  });

  describe('protection', () => {
    it('blocks inline and foreign code, framing, caching and referrer leaks', async () => {
      const { id } = await service.open();
      for (const path of ['/requests', `/requests/${id}`, '/nowhere']) {
        const { headers } = await alice.go(path);
        const policy = headers.get('content-security-policy') ?? '';
        for (const directive of [
          "default-src 'none'",
          "script-src 'self'",
          "style-src 'self'",
          "form-action 'self'",
          "frame-ancestors 'none'",
          "base-uri 'none'",
          "require-trusted-types-for 'script'",
        ]) {
          expect(policy.split(';')).toContain(directive);
        }
        expect(policy).not.toContain('unsafe');
        expect(headers.get('cache-control')).toBe('no-store');
        expect(headers.get('referrer-policy')).toBe('no-referrer');
        expect(headers.get('x-content-type-options')).toBe('nosniff');
        expect(headers.get('x-powered-by')).toBeNull();
      }
      expect(await text(alice, `/requests/${id}`)).not.toMatch(/ (style|on[a-z]+)="/);
    });

    it('refuses a vote without the token of the session, and a vote by GET', async () => {
      const request = await service.open();
      const vote = { verdict: 'approve', callDigest: request.callDigest, generation: '1' };
      const path = `/requests/${request.id}/votes`;
      const foreign = field(await text(await service.signIn('bob'), '/requests'), 'csrfToken');
      for (const form of [vote, { ...vote, csrfToken: 'guess' }, { ...vote, csrfToken: foreign }]) {
        const answer = await alice.go(path, form);
        expect([answer.status, await answer.text()]).toEqual([403, expect.stringContaining('no longer valid')]);
      }
      expect((await alice.go(`${path}?${new URLSearchParams(vote).toString()}`)).status).toBe(404);
      expect(await statusOf(request.id)).toBe('pending');
    });

    it('refuses a vote that another site sent, even with the token', async () => {
      const request = await service.open();
      const csrfToken = field(await text(alice, `/requests/${request.id}`), 'csrfToken');
      const form = { verdict: 'approve', callDigest: request.callDigest, generation: '1', csrfToken };
      const answer = await alice.go(`/requests/${request.id}/votes`, form, { 'sec-fetch-site': 'cross-site' });
      expect(answer.status).toBe(403);
      expect(await statusOf(request.id)).toBe('pending');
    });

    it('asks visitors without a session to sign in and brings them back', async () => {
      const request = await service.open();
      const stranger = new Browser(service.url);
      const page = await stranger.go(`/requests/${request.id}`);
      const returnTo = encodeURIComponent(`/requests/${request.id}`);
      expect([page.status, page.headers.get('location')]).toEqual([303, `/sign-in?returnTo=${returnTo}`]);
      const vote = { verdict: 'approve', callDigest: request.callDigest };
      expect((await stranger.go(`/requests/${request.id}/votes`, vote)).status).toBe(401);
    });

    it('shows no request to people who are not approvers [ARAP-APV-06]', async () => {
      const request = await service.open();
      const olivia = await service.signIn('olivia');
      const page = await olivia.go(`/requests/${request.id}`);
      const text = await page.text();
      expect([page.status, text]).toEqual([
        403,
        expect.stringMatching(/does not have the role.*sign out, and open this address/),
      ]);
      // As the page advises: sign in as another person.
      const out = await olivia.go('/sign-out', { csrfToken: csrfTokenIn(text) });
      expect(out.status).toBe(200);
      expect((await olivia.go(`/requests/${request.id}`)).headers.get('location')).toMatch(/^\/sign-in/);
    });

    it('sets a cookie that scripts cannot read and other sites cannot send', async () => {
      const answer = await service.fetch('/sign-in', { headers: { accept: 'text/html' } });
      const cookie = answer.headers.get('set-cookie') ?? '';
      expect(cookie).toMatch(/^countersign_approvals_sign_in_/);
      expect(cookie).toMatch(/HttpOnly/);
      expect(cookie).toMatch(/SameSite=Lax/);
    });
  });

  describe('API', () => {
    it('lists and shows requests to approvers with a token, and counts their votes', async () => {
      const request = await service.open({ arguments: { b: 1, a: '\u202e' } });
      const list = await service.asPerson('alice', '/requests?status=pending');
      expect(list.body.requests).toContainEqual(
        expect.objectContaining({
          id: request.id,
          status: 'pending',
          tool: 'files__write_file',
          callDigest: request.callDigest,
          generation: 1,
          requester: expect.objectContaining({ subject: 'agent', clientId: 'agent' }),
        }),
      );
      const one = await service.asPerson('alice', `/requests/${request.id}`);
      expect(one.body.request).toMatchObject({
        arguments: { a: '\u202e', b: 1 },
        argumentsText: '{"a":"\u202e","b":1}',
        votes: [],
      });
      expect(one.body.request.obstacle).toBeUndefined();
      const voted = await service.vote('alice', request, 'approve', { reason: 'fine' });
      expect(voted.body.request).toMatchObject({
        status: 'approved',
        obstacle: 'final',
        votes: [{ approver: { subject: 'alice' }, verdict: 'approve', reason: 'fine', via: 'api' }],
      });
    });

    it('refuses a request without a token, a token without the role, and a token for another service', async () => {
      const { id } = await service.open();
      const ask = async (token: string) =>
        (await service.fetch(`/requests/${id}`, { headers: { authorization: `Bearer ${token}` } })).status;
      expect(await ask(await service.token('olivia'))).toBe(403);
      expect(await ask(await service.token('alice', 'mcp'))).toBe(401);
      expect(await ask('no-token')).toBe(401);
      expect((await service.fetch(`/requests/${id}`, { headers: { accept: 'application/json' } })).status).toBe(401);
    });

    it('ignores the session of a request that has a token', async () => {
      const request = await service.open();
      const form = { verdict: 'approve', callDigest: request.callDigest, generation: '1' };
      const answer = await alice.go(`/requests/${request.id}/votes`, form, { authorization: 'Bearer forged' });
      expect(answer.status).toBe(401);
      expect(await statusOf(request.id)).toBe('pending');
    });

    it('says what is wrong with a vote', async () => {
      const request = await service.open();
      const answer = await service.asPerson('alice', `/requests/${request.id}/votes`, { method: 'POST', body: '{}' });
      expect([answer.status, answer.body.title]).toEqual([400, 'This is not a decision']);
      expect(answer.headers.get('content-type')).toMatch('application/problem+json');
      const broken = await service.asPerson('alice', `/requests/${request.id}/votes`, { method: 'POST', body: '{' });
      expect(broken.status).toBe(400);
    });
  });
});
