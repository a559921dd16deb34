import { statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { startHostIssuer } from '../../../support/hosts.ts';

let issuer: Awaited<ReturnType<typeof startHostIssuer>>;
beforeAll(async () => {
  issuer = await startHostIssuer({ settings: { tools: { files__write: { scopes: ['files:write'] } } } });
});
afterAll(() => issuer.stop());

const metadata = async () =>
  (await (await fetch(`${issuer.url}/.well-known/oauth-authorization-server`)).json()) as Record<string, unknown>;

describe('the metadata of the issuer', () => {
  it('names registration, documents and revocation, and S256 alone', async () => {
    expect(await metadata()).toMatchObject({
      issuer: issuer.url,
      registration_endpoint: `${issuer.url}/reg`,
      revocation_endpoint: `${issuer.url}/token/revocation`,
      client_id_metadata_document_supported: true,
      authorization_response_iss_parameter_supported: true,
      code_challenge_methods_supported: ['S256'],
      response_types_supported: ['code'],
      token_endpoint_auth_methods_supported: ['none', 'client_secret_basic', 'client_secret_post'],
    });
  });

  it('does not name what no host may use', async () => {
    const found = await metadata();
    for (const name of ['pushed_authorization_request_endpoint', 'dpop_signing_alg_values_supported']) {
      expect(found).not.toHaveProperty(name);
    }
  });
});

describe('a host that registers itself', () => {
  it('gets what it needs, also if it asks for more', async () => {
    const answer = await issuer.registration({
      client_name: 'Cursor',
      redirect_uris: [
        'cursor://anysphere.cursor-mcp/oauth/callback',
        'https://www.cursor.com/agents/oauth/callback',
        'http://localhost:8787/callback',
      ],
      grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
      response_types: ['code'],
      application_type: 'web',
      scope: 'mcp files:write',
      token_endpoint_auth_method: 'none',
      backchannel_logout_uri: 'https://evil.example/logout',
      jwks_uri: 'https://evil.example/jwks',
    });
    const body = (await answer.json()) as Record<string, unknown>;
    expect([answer.status, body]).toEqual([
      201,
      expect.objectContaining({
        grant_types: ['authorization_code', 'refresh_token'],
        token_endpoint_auth_method: 'none',
      }),
    ]);
    expect(body['client_id']).toMatch(/^Host-[\w-]{22}$/);
    for (const name of ['client_secret', 'jwks_uri', 'backchannel_logout_uri', 'registration_access_token', 'scope']) {
      expect(body).not.toHaveProperty(name);
    }
  });

  it('gets a token for the MCP endpoint with the person and the host, on any port of this machine', async () => {
    const host = { ...(await issuer.register()), redirectUri: 'http://127.0.0.1:43211/cb' };
    const { arrived, ...code } = await issuer.code(host, { changes: { scope: 'openid mcp files:write' } });
    expect(arrived.origin + arrived.pathname).toBe(host.redirectUri);
    expect([...arrived.searchParams.keys()].sort()).toEqual(['code', 'iss', 'state']);
    expect(arrived.searchParams.get('iss')).toBe(issuer.url);
    const { status, body } = await issuer.redeem(host, code);
    expect([status, body]).toEqual([200, expect.objectContaining({ token_type: 'Bearer', scope: 'mcp files:write' })]);
    expect(decodeProtectedHeader(String(body['access_token']))).toMatchObject({ typ: 'at+jwt', alg: 'ES256' });
    expect(decodeJwt(String(body['access_token']))).toMatchObject({
      iss: issuer.url,
      aud: issuer.config.urls.mcp,
      sub: 'bob',
      client_id: host.id,
      roles: ['approver', 'agent'],
    });
  });

  it('may name no scope and no resource, as hosts of earlier revisions do', async () => {
    const host = await issuer.register();
    const code = await issuer.code(host, { changes: { scope: undefined, resource: undefined } });
    const { body } = await issuer.redeem(host, code);
    expect(body['scope']).toBe('mcp');
    expect(decodeJwt(String(body['access_token'])).aud).toBe(issuer.config.urls.mcp);
  });

  it('may use its secret, if it asked for one', async () => {
    const answer = await issuer.registration({
      client_name: 'With a secret',
      redirect_uris: ['http://127.0.0.1/cb'],
      token_endpoint_auth_method: 'client_secret_post',
    });
    const { client_id: id, client_secret: secret } = (await answer.json()) as Record<string, string>;
    const host = { id: id ?? '', redirectUri: 'http://127.0.0.1/cb' };
    expect((await issuer.redeem(host, await issuer.code(host))).status).toBe(401);
    expect((await issuer.redeem(host, await issuer.code(host), { client_secret: secret })).status).toBe(200);
  });
});

describe('the page that asks for consent', () => {
  it('names the host, what it goes back to, what it may do, and for how long', async () => {
    const host = await issuer.register(undefined, { client_name: 'An <b>editor</b>' });
    const { address } = await issuer.asks(host, { scope: 'openid mcp files:write' });
    const { html, answer } = await issuer.open(address);
    const text = html.replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ');
    expect(text).toContain('Let a program act for you?');
    expect(text).toContain('An &lt;b>editor&lt;/b>');
    expect(text).toContain('Countersign has not checked it.');
    expect(text).toMatch(/Nothing\. It registered itself at \d{4}-\d\d-\d\d \d\d:\d\d UTC\./);
    expect(text).toContain('Any program on this machine can pretend to be another one.');
    expect(text).toContain(`call tools at ${issuer.config.urls.mcp} in your name`);
    expect(text).toContain('call files__write');
    expect(text).toContain('learn your name and your roles');
    expect(text).toContain('30 days. Then the program asks again.');
    expect([...html.matchAll(/name="person" value="([^"]+)"/g)].map(([, name]) => name)).toEqual([
      'agent',
      'alice',
      'bob',
      'olivia',
    ]);
    expect(answer.headers.get('content-security-policy')).toMatch(/frame-ancestors 'none'/);
    expect(answer.headers.get('content-security-policy')).toContain("form-action 'self' http://127.0.0.1;");
    expect(html).not.toMatch(/<script(?![^>]*src=)|style=|onclick/);
  });

  it.each([
    ['http://[::1]/cb', 'http:'],
    ['https://www.cursor.com/cb', 'https://www.cursor.com'],
    ['cursor://anysphere.cursor-mcp/oauth/callback', 'cursor:'],
  ])('lets a browser go on to %s, and nowhere else', async (redirectUri, source) => {
    const { answer } = await issuer.open((await issuer.asks(await issuer.register(redirectUri))).address);
    expect(answer.headers.get('content-security-policy')).toContain(`form-action 'self' ${source};`);
  });

  it('returns a refusal to the host', async () => {
    const host = await issuer.register();
    const { address } = await issuer.asks(host);
    const arrived = await issuer.press(await issuer.open(address), { refuse: 'yes' });
    expect(Object.fromEntries(arrived.searchParams)).toEqual({
      error: 'access_denied',
      error_description: 'the person refused',
      state: 'a-state',
      iss: issuer.url,
    });
  });

  it('leaves the session of the pages in this browser alone', async () => {
    const host = await issuer.register();
    const { address } = await issuer.asks(host);
    const page = await issuer.open(address);
    await issuer.press(page, { person: 'bob' });
    expect(page.browser.cookieNames.filter((name) => name.startsWith('identity_session'))).toEqual([]);
  });
});

describe('a signed-in host', () => {
  it('refreshes its token, and gets another refresh token each time, also over a restart', async () => {
    const host = await issuer.register();
    const first = await issuer.signIn(host);
    const second = await issuer.refresh(host, first['refresh_token']);
    expect(second.status).toBe(200);
    await issuer.restart();
    const third = await issuer.refresh(host, second.body['refresh_token']);
    expect(third.status).toBe(200);
    expect(decodeJwt(String(third.body['access_token']))).toMatchObject({ sub: 'bob', aud: issuer.config.urls.mcp });
    const tokens = [first, second.body, third.body].map((body) => body['refresh_token']);
    expect(new Set(tokens).size).toBe(3);
  });

  it('is kept in a file that only its owner can read, without a token in it', async () => {
    const host = await issuer.register();
    const { refresh_token: token } = await issuer.signIn(host);
    const file = join(issuer.config.stateDir, 'identity.json');
    expect((statSync(file).mode & 0o777).toString(8)).toBe('600');
    expect(JSON.stringify(issuer.kept)).toContain(host.id);
    expect(JSON.stringify(issuer.kept)).not.toContain(String(token));
  });

  it('signs out by a revocation', async () => {
    const host = await issuer.register();
    const { refresh_token: token } = await issuer.signIn(host);
    const form = new URLSearchParams({ client_id: host.id, token: String(token) });
    await fetch(`${issuer.url}/token/revocation`, { method: 'POST', body: form });
    expect((await issuer.refresh(host, token)).body['error']).toBe('invalid_grant');
  });
});
