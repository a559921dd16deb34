import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { decodeJwt } from 'jose';
import { createTokenVerifier } from '../../../../apps/shared/auth/access-token.ts';
import { pino } from 'pino';
import { type Host, startHostIssuer } from '../../../support/hosts.ts';
import { systemTime } from '../../../support/time.ts';

let issuer: Awaited<ReturnType<typeof startHostIssuer>>;
let host: Host;
beforeAll(async () => {
  issuer = await startHostIssuer({ settings: { identity: { hosts: { registrationsPerMinute: 10_000 } } } });
  host = await issuer.register();
});
afterAll(() => issuer.stop());

const INVALID_GRANT = { status: 400, body: { error: 'invalid_grant' } };

describe('a code that was stolen', () => {
  it('is worth nothing without its verifier, or with another', async () => {
    const { code, verifier } = await issuer.code(host);
    expect(await issuer.redeem(host, { code, verifier: 'x'.repeat(43) })).toMatchObject(INVALID_GRANT);
    expect(await issuer.redeem(host, { code, verifier }, { code_verifier: undefined })).toMatchObject(INVALID_GRANT);
  });

  it('is worth nothing to another host, or with another address', async () => {
    const other = await issuer.register();
    const first = await issuer.code(host);
    expect(await issuer.redeem(other, first)).toMatchObject(INVALID_GRANT);
    const changes = { redirect_uri: 'http://127.0.0.1:4999/cb' };
    expect(await issuer.redeem(host, await issuer.code(host), changes)).toMatchObject(INVALID_GRANT);
  });

  it('ends the sign-in when it is used again', async () => {
    const code = await issuer.code(host);
    const { body } = await issuer.redeem(host, code);
    expect(await issuer.redeem(host, code)).toMatchObject(INVALID_GRANT);
    expect(await issuer.refresh(host, body['refresh_token'])).toMatchObject(INVALID_GRANT);
  });

  it('gives one token at most to requests at the same moment', async () => {
    const code = await issuer.code(host);
    const answers = await Promise.all([1, 2, 3].map(() => issuer.redeem(host, code)));
    expect(answers.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(1);
    for (const { body } of answers.filter(({ status }) => status === 200)) {
      expect(await issuer.refresh(host, body['refresh_token'])).toMatchObject(INVALID_GRANT);
    }
  });

  it('is worth nothing after a minute', async () => {
    const code = await issuer.code(host);
    const now = Date.now();
    const later = jest.spyOn(Date, 'now').mockReturnValue(now + 61_000);
    try {
      expect(await issuer.redeem(host, code)).toMatchObject(INVALID_GRANT);
    } finally {
      later.mockRestore();
    }
  });
});

describe('an answer of the issuer', () => {
  it('names the issuer once, so that a host knows who answered', async () => {
    const { arrived } = await issuer.code(host);
    expect(arrived.searchParams.getAll('iss')).toEqual([issuer.url]);
    expect(arrived.searchParams.getAll('state')).toEqual(['a-state']);
  });
});

describe('a refresh token that is used again', () => {
  it('ends the sign-in with the newest token', async () => {
    const { refresh_token: first } = await issuer.signIn(host);
    const { body } = await issuer.refresh(host, first);
    expect(await issuer.refresh(host, first)).toMatchObject(INVALID_GRANT);
    expect(await issuer.refresh(host, body['refresh_token'])).toMatchObject(INVALID_GRANT);
    expect(Object.values(issuer.kept.grants)).not.toContainEqual(
      expect.objectContaining({ payload: expect.objectContaining({ jti: first }) }),
    );
  });

  it('ends the sign-in also after a restart', async () => {
    const { refresh_token: first } = await issuer.signIn(host);
    const { body } = await issuer.refresh(host, first);
    await issuer.restart();
    expect(await issuer.refresh(host, first)).toMatchObject(INVALID_GRANT);
    expect(await issuer.refresh(host, body['refresh_token'])).toMatchObject(INVALID_GRANT);
  });

  it('gives one answer at most to requests at the same moment, and ends the sign-in', async () => {
    const { refresh_token: first } = await issuer.signIn(host);
    const answers = await Promise.all([1, 2, 3, 4].map(() => issuer.refresh(host, first)));
    const given = answers.filter(({ status }) => status === 200);
    expect(given.length).toBeLessThanOrEqual(1);
    for (const { body } of given)
      expect(await issuer.refresh(host, body['refresh_token'])).toMatchObject(INVALID_GRANT);
    expect(await issuer.refresh(host, first)).toMatchObject(INVALID_GRANT);
  });

  it('of another host ends nothing', async () => {
    const other = await issuer.register();
    const { refresh_token: first } = await issuer.signIn(host);
    expect(await issuer.refresh(other, first)).toMatchObject(INVALID_GRANT);
    expect((await issuer.refresh(host, first)).status).toBe(200);
  });
});

describe('a token of a host', () => {
  const INVALID_TARGET = { error: 'invalid_target' };

  it.each(['approvals', 'audit', 'elsewhere'] as const)('is never for %s', async (name) => {
    const resource = name === 'elsewhere' ? 'https://elsewhere.example' : issuer.config.urls[name];
    const { address } = await issuer.asks(host, { resource });
    const { answer } = await issuer.open(address);
    expect(new URL(answer.headers.get('location') ?? '').searchParams.get('error')).toBe('invalid_target');
    const code = await issuer.code(host);
    expect((await issuer.redeem(host, code, { resource })).body).toMatchObject(INVALID_TARGET);
    const { refresh_token: token } = await issuer.signIn(host);
    expect((await issuer.refresh(host, token, { resource })).body).toMatchObject(INVALID_TARGET);
  });

  it('is for one resource', async () => {
    const { address } = await issuer.asks(host);
    const both = await issuer.open(`${address}&resource=${encodeURIComponent(issuer.config.urls.approvals)}`);
    expect(new URL(both.answer.headers.get('location') ?? '').searchParams.get('error')).toBe('invalid_target');
  });

  it('has no scope of another service', async () => {
    const { body } = await issuer.redeem(host, await issuer.code(host, { changes: { scope: 'mcp approvals audit' } }));
    expect(body['scope']).toBe('mcp');
  });

  it('is refused by the inbox and by the audit pages', async () => {
    const { access_token: token } = await issuer.signIn(host, 'alice');
    const log = pino({ level: 'silent' });
    for (const audience of [issuer.config.urls.approvals, issuer.config.urls.audit]) {
      const verifier = createTokenVerifier(issuer.config, audience, { log, ...systemTime });
      await expect(verifier.verify(String(token))).rejects.toMatchObject({ code: 'ERR_TOKEN_INVALID' });
    }
    const own = createTokenVerifier(issuer.config, issuer.config.urls.mcp, { log, ...systemTime });
    expect((await own.verify(String(token))).principal).toMatchObject({ subject: 'alice', clientId: host.id });
  });

  it('is for the configured address, under whichever name of this machine the host asks', async () => {
    const resource = issuer.config.urls.mcp.replace('127.0.0.1', 'localhost');
    const { verifier, code } = await issuer.code(host, { changes: { resource } });
    const { body } = await issuer.redeem(host, { verifier, code }, { resource });
    expect(decodeJwt(String(body['access_token'])).aud).toBe(issuer.config.urls.mcp);
    const again = await issuer.refresh(host, body['refresh_token'], { resource });
    expect(decodeJwt(String(again.body['access_token'])).aud).toBe(issuer.config.urls.mcp);
  });

  it.each(['client_credentials', 'password', 'urn:ietf:params:oauth:grant-type:device_code'])(
    'needs a person: %s is refused',
    async (grant) => {
      const { status, body } = await issuer.token({
        grant_type: grant,
        client_id: host.id,
        username: 'bob',
        password: 'x',
      });
      expect(status).toBe(400);
      expect(body).not.toHaveProperty('access_token');
    },
  );
});
