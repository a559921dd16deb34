import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Host, type Params, startHostIssuer } from '../../../support/hosts.ts';

let issuer: Awaited<ReturnType<typeof startHostIssuer>>;
let local: Host;
let foreign: Host;
beforeAll(async () => {
  issuer = await startHostIssuer({ settings: { identity: { hosts: { registrationsPerMinute: 10_000 } } } });
  local = await issuer.register('http://127.0.0.1/cb');
  foreign = await issuer.register('https://evil.example/cb');
});
afterAll(() => issuer.stop());

describe('an address for the answer', () => {
  it.each([
    'http://evil.example/cb',
    'http://127.0.0.1/cb#f',
    'http://127.0.0.1/cb#',
    'http://u@127.0.0.1/cb',
    'http://:p@127.0.0.1/cb',
    'http://127.1/cb',
    'http://2130706433/cb',
    'http://0x7f.0.0.1/cb',
    'http://127.0.0.1\\@evil.example/cb',
    'http://127.0.0.1/../cb',
    'http://LOCALHOST/cb',
    'http://l\u043ecalhost/cb',
    'https://ex\u00e4mple.com/cb',
    'https://localhost/cb',
    'http://[::ffff:127.0.0.1]/cb',
    'http://[0:0:0:0:0:0:0:1]/cb',
    'http://localhost./cb',
    ' http://127.0.0.1/cb',
    'http:/127.0.0.1/cb',
    'javascript:alert(1)',
    'data:text/html,x',
    'file:///etc/passwd',
    'mailto:a@b.example',
    'view-source:https://evil.example',
    'no address',
  ])('cannot be registered: %s', async (uri) => {
    const before = Object.keys(issuer.kept.clients).length;
    const answer = await issuer.registration({ client_name: 'A host', redirect_uris: [uri] });
    expect([answer.status, await answer.json()]).toEqual([
      400,
      expect.objectContaining({ error: 'invalid_redirect_uri' }),
    ]);
    expect(Object.keys(issuer.kept.clients)).toHaveLength(before);
  });

  it.each([
    'http://127.0.0.1:5/cb',
    'http://[::1]:7/cb',
    'https://www.cursor.com/cb',
    'https://xn--exmple-cua.com/cb',
    'cursor://a/b',
  ])('can be registered: %s', async (uri) => {
    const answer = await issuer.registration({ client_name: 'A host', redirect_uris: [uri] });
    expect(answer.status).toBe(201);
  });

  it('may have any port of this machine at the sign-in', async () => {
    const { address } = await issuer.asks(local, { redirect_uri: 'http://127.0.0.1:65001/cb' });
    const { answer, html } = await issuer.open(address);
    expect([answer.status, html]).toEqual([200, expect.stringContaining('Allow as')]);
  });

  it.each([
    'http://127.0.0.1/other',
    'http://127.0.0.1/cb/',
    'http://127.0.0.1/cb?x=1',
    'http://localhost/cb',
    'http://[::1]/cb',
    'http://127.0.0.1/cb#x',
    'http://u@127.0.0.1/cb',
    'http://127.0.0.1:80@evil.example/cb',
    'http://127.0.0.1.evil.example/cb',
    '//evil.example/cb',
    'https://127.0.0.1/cb',
    'http://127.0.0.1\\@evil.example/cb',
    'http://evil.example/cb',
  ])('must be the registered one at the sign-in, not %j', async (uri) => {
    const { address } = await issuer.asks(local, { redirect_uri: uri });
    const { answer } = await issuer.open(address);
    expect([answer.status, answer.headers.get('location')]).toEqual([400, null]);
  });

  it('must be there once: a second one never wins', async () => {
    const { address } = await issuer.asks(local);
    const evil = `redirect_uri=${encodeURIComponent('https://evil.example/cb')}`;
    for (const both of [`${address}&${evil}`, address.replace('?', `?${evil}&`)]) {
      const { answer } = await issuer.open(both);
      expect(answer.status).not.toBe(200);
      expect(answer.headers.get('location') ?? '').not.toContain('evil');
    }
  });
});

describe('the issuer redirects to no other machine without an answer of a person', () => {
  const wrong: [string, Params][] = [
    ['prompt=none', { prompt: 'none' }],
    ['another response type', { response_type: 'token' }],
    ['another response mode', { response_mode: 'form_post' }],
    ['a fragment as response mode', { response_mode: 'fragment' }],
    ['no PKCE', { code_challenge: undefined, code_challenge_method: undefined }],
    ['plain PKCE', { code_challenge_method: 'plain' }],
    ['another resource', { resource: 'https://elsewhere.example' }],
    ['a request object', { request: 'x.y.z' }],
    ['an unknown prompt', { prompt: 'what' }],
  ];
  it.each(wrong)('%s', async (_what, changes) => {
    const { address } = await issuer.asks(foreign, changes);
    const { answer, html } = await issuer.open(address);
    expect([answer.status, answer.headers.get('location')]).toEqual([400, null]);
    expect(html).not.toContain('action="https://evil.example');
  });

  it('and tells a program of this machine what is wrong', async () => {
    const { address } = await issuer.asks(local, { prompt: 'none' });
    const { answer } = await issuer.open(address);
    const location = new URL(answer.headers.get('location') ?? '');
    expect(Object.fromEntries(location.searchParams)).toMatchObject({
      error: 'login_required',
      state: 'a-state',
      iss: issuer.url,
    });
  });
});
