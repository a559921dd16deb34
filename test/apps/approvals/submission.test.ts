import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { exportJWK, generateKeyPair } from 'jose';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import { wordsOf } from '../../support/pages.ts';
import type { SubmissionChanges } from '../../support/submissions.ts';

const URN = 'urn:openid:authzen:access-request:error:';

describe('the submission of an access request [ARAP-BND-01, ARAP-BND-04, ARAP-BND-13, ARAP-BND-16, ARAP-BND-20, ARAP-GEN-08, ARAP-SUB-02, ARAP-SUB-03, ARAP-SUB-05, ARAP-SUB-09, ARAP-ERR-04, PRJ-06, PRJ-07, ARAP-CB-02, ARAP-SUB-08, ARAP-SUB-19, PRJ-11, PRJ-14]', () => {
  const service = new ApprovalsUnderTest();
  beforeAll(() => service.start());
  afterAll(() => service.stop());
  afterEach(() => void (service.clock.stoppedAt = undefined));

  const count = async () =>
    (await service.database.pool.query('SELECT count(*)::int AS n FROM approvals.access_request')).rows[0].n as number;
  const refusal = async (changes: SubmissionChanges) => {
    const { status, body } = await service.submit(await service.submission(changes));
    return [status, (body.type ?? '').replace(URN, '')];
  };
  const INVALID = [400, 'invalid_denial_binding'];
  const soon = () => new Date((Math.floor(Date.now() / 1_000) + 600) * 1_000);
  /** By the clock of the service, in seconds. */
  const ago = (seconds: number) => new Date((Math.floor(service.clock.now() / 1_000) - seconds) * 1_000);
  const longAgo = () => ago(31);

  it('opens a task and returns its handle [ARAP-SUB-01, ARAP-SUB-24, ARAP-TSK-01, ARAP-TSK-02, ARAP-TSK-04, ARAP-TSK-05, ARAP-CAN-02]', async () => {
    const answer = await service.submit(await service.submission());
    const { task } = answer.body;
    expect([answer.status, task.status]).toEqual([202, 'pending']);
    expect(task.id).toMatch(/^arq_[A-Za-z0-9_-]{22}$/);
    expect(task.status_endpoint).toBe(`${service.config.urls.accessRequests}/${task.id}`);
    expect(answer.headers.get('location')).toBe(task.status_endpoint);
    expect(task.links.cancel).toBe(`${task.status_endpoint}/cancel`);
    const inDays = (Date.parse(task.expires_at) - Date.now()) / 86_400_000;
    expect(inDays).toBeCloseTo(7, 2);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    // No data about approvers, policies or arguments reaches the enforcement point (ARAP-STS-16).
    expect(JSON.stringify(answer.body)).not.toMatch(/writes-need-approval|hello/);
  });

  it("shows approvers the requester's words separately from bound members [ARAP-GEN-08]", async () => {
    const members = ['agent', 'arguments', 'call_digest', 'region'];
    const body = await service.submission({ context: { region: 'region-of-the-call' }, members });
    const said = { requester_input: { justification: 'Invoice <b>88</b>' } };
    const { body: answer } = await service.submit({ ...body, context: { ...body.context, ...said } });
    const path = `/requests/${answer.task.id}`;
    expect((await service.asPerson('alice', path)).body.request.requesterInput).toEqual(said);
    const page = await (await (await service.signIn('alice')).go(path)).text();
    const [bound = '', unbound = ''] = page.split('Stated by the requester, unverified');
    expect(bound).toMatch(/Also evaluated by policy.*region-of-the-call/s);
    expect(wordsOf(unbound)).toContain('Invoice &lt;b>88&lt;/b>');
    expect([bound.includes('Invoice'), unbound.includes('region-of-the-call')]).toEqual([false, false]);
  });

  it('returns the same task for a repeated submission in any layout, twenty at once [ARAP-IDM-03, ARAP-IDM-05]', async () => {
    const body = await service.submission();
    const before = await count();
    const shuffled = JSON.stringify(Object.fromEntries(Object.entries(body).reverse()), null, 2);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => service.submit(i % 2 ? shuffled : body, { 'idempotency-key': 'same' })),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]));
    expect(new Set(answers.map((answer) => answer.body.task.id)).size).toBe(1);
    expect(await count()).toBe(before + 1);
  });

  it('returns the task for a repeated submission after its denial expired', async () => {
    const expiresAt = soon();
    const body = await service.submission({ expiresAt });
    const first = await service.submit(body, { 'idempotency-key': 'later' });
    expect(first.status).toBe(202);
    service.clock.stoppedAt = expiresAt.getTime() + 31_000;
    expect(await refusal({ expiresAt })).toEqual([410, 'expired_denial']);
    const again = await service.submit(body, { 'idempotency-key': 'later' });
    expect([again.status, again.body.task.id]).toEqual([202, first.body.task.id]);
  });

  it('refuses a used key with another body [ARAP-IDM-02, ARAP-IDM-04, ARAP-ERR-05]', async () => {
    const body = await service.submission();
    await service.submit(body, { 'idempotency-key': 'taken' });
    const other = await service.submit({ ...body, extra: 1 }, { 'idempotency-key': 'taken' });
    expect([other.status, other.body.type]).toEqual([409, `${URN}duplicate_request`]);
  });

  it('opens one task for a denial [ARAP-BND-06, PRJ-10]', async () => {
    const body = await service.submission();
    const answers = await Promise.all(Array.from({ length: 8 }, () => service.submit(body)));
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(1);
    const refused = answers.filter(({ status }) => status !== 202);
    expect(refused.map(({ body: problem }) => problem.type)).toEqual(Array(7).fill(`${URN}invalid_denial_binding`));
  });

  it.each<[string, () => SubmissionChanges | Promise<SubmissionChanges>]>([
    ['another key under the same kid', async () => ({ key: await aKey(String(service.secrets.pdpSigningKey.kid)) })],
    ['an unknown kid', () => ({ header: { kid: 'unknown' } })],
    ['an embedded key', async () => ({ key: await aKey('own'), header: { jku: 'http://127.0.0.1:1/', kid: 'own' } })],
    ['another issuer', () => ({ claims: { iss: 'http://127.0.0.1:1' } })],
    ['another audience', () => ({ claims: { aud: 'http://127.0.0.1:1/access/v1/requests' } })],
    ['no audience', () => ({ claims: { aud: undefined } })],
    ['no token id', () => ({ claims: { jti: undefined } })],
    ['no expiry', () => ({ claims: { exp: undefined } })],
    ['another evaluation', () => ({ claims: { evaluation_id: 'eval_other' } })],
    ['another subject', () => ({ body: { subject: { type: 'identity', id: 'mallory' } } })],
    ['another resource type', () => ({ body: { resource: { type: 'door', id: 'files__write_file' } } })],
    ['another action', () => ({ body: { action: { name: 'tools/list' } } })],
    ['an action with more in it', () => ({ body: { action: { name: 'tools/call', properties: { force: true } } } })],
    ['another member', async () => ({ body: { context: { ...(await service.submission()).context, agent: 'x' } } })],
    ['another hash', () => ({ claims: { binding_hash: 'AAAA' } })],
    ['another inline copy', () => ({ claims: { action: { name: 'tools/list' } } })],
    ['nothing bound', () => ({ claims: { binding_hash: undefined, subject: undefined } })],
    ['a call digest that is not bound', () => ({ members: ['agent', 'arguments'] })],
    ['a digest of other arguments', () => ({ context: { arguments: { path: '/etc/passwd' } } })],
    ['a digest for another tool', () => ({ context: { call_digest: `sha-256:${'0'.repeat(64)}` } })],
    ['a digest that does not match the tool in the context', () => ({ context: { tool: 'files__other' } })],
    ['a later echo of the expiry', () => ({ body: {}, claims: { denial_expires_at: new Date(0).toISOString() } })],
  ])('refuses a denial with %s', async (_name, changes) => {
    const before = await count();
    expect(await refusal(await changes())).toEqual(INVALID);
    expect(await count()).toBe(before);
  });

  it('accepts either form of the binding alone [ARAP-BND-02, ARAP-BND-09, PRJ-04]', async () => {
    const parts = { subject: undefined, resource: undefined, action: undefined, context: undefined };
    expect((await service.submit(await service.submission({ claims: parts }))).status).toBe(202);
    expect((await service.submit(await service.submission({ claims: { binding_hash: undefined } }))).status).toBe(202);
  });

  it('refuses arguments that do not match the digest', async () => {
    const body = await service.submission({ members: ['agent', 'call_digest'] });
    expect((await service.submit(await service.submission({ members: ['agent', 'call_digest'] }))).status).toBe(202);
    const context = { ...body.context, arguments: { path: '/etc/passwd' } };
    const answer = await service.submit({ ...body, context });
    expect([answer.status, answer.body.type]).toEqual([400, `${URN}invalid_denial_binding`]);
  });

  it('refuses tokens that are not signed with ES256, and texts that are not tokens [ARAP-BND-01]', async () => {
    const body = await service.submission();
    const [, payload] = body.denial.binding_token.split('.');
    const header = (alg: string) => Buffer.from(JSON.stringify({ alg, kid: 'x' })).toString('base64url');
    for (const token of [`${header('none')}.${payload}.`, `${header('HS256')}.${payload}.AAAA`, 'text', '']) {
      const denial = { ...body.denial, binding_token: token };
      expect((await service.submit({ ...body, denial })).body.type).toBe(`${URN}invalid_denial_binding`);
    }
    const { binding_token: _token, ...denial } = body.denial;
    expect((await service.submit({ ...body, denial })).body.type).toBe(`${URN}invalid_denial_binding`);
  });

  it('refuses a stale denial, with thirty seconds of tolerance [ARAP-BND-18, ARAP-ERR-03, ARAP-CLK-01, ARAP-CLK-02]', async () => {
    // Ahead, since the denials are issued by the true clock, which goes on.
    service.clock.stoppedAt = Date.now() + 60_000;
    expect(await refusal({ expiresAt: longAgo() })).toEqual([410, 'expired_denial']);
    expect((await service.submit(await service.submission({ expiresAt: ago(5) }))).status).toBe(202);
  });

  it('takes the earlier of two deadlines [ARAP-BND-15, PRJ-13]', async () => {
    const exp = Math.floor(longAgo().getTime() / 1_000);
    expect(await refusal({ expiresAt: soon(), claims: { exp } })).toEqual([410, 'expired_denial']);
  });

  it('refuses a denial that was given to another client [ARAP-SUB-21]', async () => {
    const answer = await service.submit(await service.submission({ claims: { requester: 'another-gateway' } }));
    expect([answer.status, answer.body.type]).toEqual([403, 'about:blank']);
  });

  it.each<[string, unknown]>([
    ['subject:', { subject: undefined }],
    ['subject.id:', { subject: { type: 'identity' } }],
    ['action.name:', { action: { name: 1 } }],
    ['context.arguments:', { context: { call_digest: `sha-256:${'0'.repeat(64)}` } }],
    ['denial:', { denial: undefined }],
    ['items: bulk', { items: [] }],
    ['callback.events:', { callback: { endpoint: 'http://127.0.0.1:1/', events: [] } }],
    ['callback.endpoint: not registered', { callback: { endpoint: 'http://169.254.169.254/latest' } }],
    ['client.actor.id:', { client: { actor: { issuer: 'x' } } }],
    ['resource.id: no control', { resource: { type: 'tool', id: 'a\u0000b' } }],
    ['half a character', { note: '\ud800' }],
  ])('names what is wrong with a malformed request: %s', async (detail, change) => {
    const changed = { ...(await service.submission()), ...(change as object) };
    const answer = await service.submit(changed);
    expect(answer.body.detail).toContain(detail);
    expect(answer.headers.get('content-type')).toMatch('application/problem+json');
    expect([answer.status, answer.body.type]).toEqual([400, 'about:blank']);
  });

  it.each<[string, RequestInit, number]>([
    ['no idempotency key', { headers: { 'idempotency-key': '' } }, 400],
    ['another content type', { headers: { 'content-type': 'text/plain' } }, 415],
    ['a compressed body', { headers: { 'content-encoding': 'gzip' } }, 415],
    ['text that is not JSON', { body: '{' }, 400],
    ['a body that is too large', { body: JSON.stringify({ a: 'x'.repeat(5_000_000) }) }, 413],
    ['a body that is nested too deeply', { body: `{"a":${'['.repeat(50_000)}${']'.repeat(50_000)}}` }, 400],
    ['another method', { method: 'PUT', body: '{}' }, 405],
  ])('answers a request with %s with its status [PRJ-11]', async (_name, init, expected) => {
    const answer = await service.asGateway('/access/v1/requests', {
      method: 'POST',
      body: JSON.stringify(await service.submission()),
      ...init,
      headers: { 'content-type': 'application/json', 'idempotency-key': 'a-key', ...init.headers },
    });
    expect([answer.status, answer.body.type]).toEqual([expected, 'about:blank']);
  });

  it('refuses a client without the credential [ARAP-ATH-01, ARAP-ATH-02, ARAP-SUB-20]', async () => {
    const body = JSON.stringify(await service.submission());
    for (const authorization of ['', 'Bearer wrong', `Basic ${service.secrets.accessRequestToken}`]) {
      const headers = {
        'content-type': 'application/json',
        'idempotency-key': 'k',
        ...(authorization && { authorization }),
      };
      const answer = await service.fetch('/access/v1/requests', { method: 'POST', headers, body });
      expect([answer.status, answer.body.type]).toEqual([401, 'about:blank']);
      expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer /);
    }
  });

  describe('the order of its checks', () => {
    const bad = { claims: { aud: 'elsewhere' } };
    it('reports a bad credential before a bad body [PRJ-09]', async () => {
      expect((await service.fetch('/access/v1/requests', { method: 'POST', body: '{' })).status).toBe(401);
    });
    it('reports a bad shape before a known key [PRJ-09]', async () => {
      const body = await service.submission();
      await service.submit(body, { 'idempotency-key': 'shape' });
      const answer = await service.submit({ ...body, subject: 1 }, { 'idempotency-key': 'shape' });
      expect(answer.status).toBe(400);
    });
    it('reports a known key before a bad token [PRJ-09]', async () => {
      await service.submit(await service.submission(), { 'idempotency-key': 'token' });
      const answer = await service.submit(await service.submission(bad), { 'idempotency-key': 'token' });
      expect(answer.body.type).toBe(`${URN}duplicate_request`);
    });
    it('reports a bad binding before staleness [PRJ-09]', async () => {
      const body = { subject: { type: 'identity', id: 'mallory' } };
      expect(await refusal({ expiresAt: longAgo(), body })).toEqual(INVALID);
    });
    it('reports staleness before a used token [PRJ-09]', async () => {
      const body = await service.submission();
      await service.submit(body);
      const jti = JSON.parse(Buffer.from(body.denial.binding_token.split('.')[1] ?? '', 'base64url').toString()).jti;
      expect(await refusal({ expiresAt: longAgo(), claims: { jti } })).toEqual([410, 'expired_denial']);
      expect(await refusal({ claims: { jti } })).toEqual(INVALID);
    });
  });
});

async function aKey(kid: string) {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  return { ...(await exportJWK(privateKey)), kid };
}
