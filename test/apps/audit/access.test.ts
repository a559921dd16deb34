import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey } from 'jose';
import { pino } from 'pino';
import { startAudit } from '../../../apps/audit/main.ts';
import { parseConfig } from '../../../apps/shared/config/config.ts';
import { freePort } from '../../../apps/shared/embedded/process-tools.ts';
import type { Running } from '../../../apps/shared/lifecycle.ts';
import { SEALING_SECRETS } from '../../support/gated-calls.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { serve } from '../../support/serve.ts';
import { endedCalls } from './ended-calls.ts';
import { PATIENT_FACTOR, systemTime } from '../../support/time.ts';

const KEY_ID = 'test-key';

/** An issuer that publishes one key, and can stop publishing it. */
async function startIssuer() {
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  const jwk = { ...(await exportJWK(publicKey)), kid: KEY_ID, alg: 'ES256', use: 'sig' };
  const server = await serve((request, response) => {
    const metadata = { issuer: server.url, jwks_uri: `${server.url}/jwks` };
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(request.url === '/jwks' ? { keys: [jwk] } : metadata));
  });
  return { issuer: server.url, privateKey, server };
}

const configOn = (port: number) =>
  parseConfig(
    { timeLimitFactor: PATIENT_FACTOR, audit: { port }, identity: { issuer: issuer.issuer } },
    { baseDir: '/', stateDir: '/' },
  );

let issuer: Awaited<ReturnType<typeof startIssuer>>;
let database: TestDatabase;
let audit: Running;
let url: string;
beforeAll(async () => {
  [issuer, database] = await Promise.all([startIssuer(), createTestDatabase()]);
  const config = configOn(await freePort());
  url = config.urls.audit;
  const secrets = {
    sessionSecret: 'a-secret-of-some-length',
    oidcClientSecret: 'another-secret-of-length',
    ...SEALING_SECRETS,
  };
  audit = await startAudit(config, secrets, {
    ...systemTime,
    log: pino({ level: 'silent' }),
    databaseUrl: database.url,
  });
});
afterAll(async () => {
  await audit.stop();
  await issuer.server.close();
  await database.drop();
});

interface TokenMembers {
  readonly roles?: unknown;
  readonly audience?: string;
  readonly scope?: string;
  readonly issuedAt?: number;
  readonly expiresAt?: number;
  readonly key?: CryptoKey;
}

const now = () => Math.floor(Date.now() / 1_000);
const aToken = ({ roles = ['auditor'], audience = url, scope = 'audit', ...members }: TokenMembers = {}) =>
  new SignJWT({ roles, scope, client_id: 'olivia' })
    .setProtectedHeader({ alg: 'ES256', kid: KEY_ID, typ: 'at+jwt' })
    .setIssuer(issuer.issuer)
    .setSubject('olivia')
    .setAudience(audience)
    .setIssuedAt(members.issuedAt ?? now() - 600)
    .setExpirationTime(members.expiresAt ?? now() + 600)
    .sign(members.key ?? issuer.privateKey);

const get = (path: string, headers: Record<string, string> = {}) => fetch(url + path, { headers, redirect: 'manual' });
const withToken = async (token: string, accept = 'application/json') =>
  get('/outcome-records', { authorization: `Bearer ${token}`, accept });

describe('the reader of outcome records', () => {
  it('needs the role auditor and a token for this service, and gets JSON instead of a page', async () => {
    const response = await withToken(await aToken(), 'text/html');
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ items: [] });
  });

  it('is refused with a token that lacks the scope of this service', async () => {
    const response = await withToken(await aToken({ scope: 'mcp approvals' }));
    expect(response.status).toBe(403);
    expect(response.headers.get('www-authenticate')).toMatch(/error="insufficient_scope", scope="audit"/);
  });

  it('may have its roles in one text or in a list', async () => {
    expect((await withToken(await aToken({ roles: 'agent auditor' }))).status).toBe(200);
  });

  it.each([[['approver', 'agent']], [[]], ['auditors'], [{ auditor: true }], [undefined]])(
    'is refused with the roles %j',
    async (roles) => {
      const response = await withToken(await aToken({ roles: roles === undefined ? null : roles }));
      expect(response.status).toBe(403);
      expect(await response.json()).toMatchObject({ status: 403, title: 'You are not an auditor' });
    },
  );

  it('is refused with a token that has expired, is old, is for another service, or has another signer', async () => {
    const { privateKey: key } = await generateKeyPair('ES256');
    const old = { issuedAt: now() - 3_600 - 60 };
    for (const members of [{ expiresAt: now() - 60 }, old, { audience: 'http://127.0.0.1:1/mcp' }, { key }]) {
      const response = await withToken(await aToken(members));
      expect(response.status).toBe(401);
      expect(response.headers.get('www-authenticate')).toBe(`Bearer realm="${url}", error="invalid_token"`);
    }
    expect((await withToken('no-token-at-all')).status).toBe(401);
    expect((await get('/outcome-records', { authorization: 'Basic some-password', accept: 'text/html' })).status).toBe(
      401,
    );
  });

  it('without a token gets 401 as a program, and as a browser is sent to sign in and back', async () => {
    const program = await get('/outcome-records?state=denied');
    expect(program.status).toBe(401);
    expect(program.headers.get('www-authenticate')).toBe(`Bearer realm="${url}"`);
    const browser = await get('/outcome-records?state=denied', { accept: 'text/html' });
    expect(browser.status).toBe(303);
    expect(browser.headers.get('location')).toBe('/sign-in?returnTo=%2Foutcome-records%3Fstate%3Ddenied');
  });

  it('cannot learn which records exist without a valid token', async () => {
    const call = await endedCalls(database.pool).end('denied');
    const answers = await Promise.all(
      [`by-task/${call.taskId}`, 'by-task/tsk_unknown', '?nonsense=1'].map(async (path) => {
        const response = await get(`/outcome-records/${path}`);
        return [response.status, await response.text()];
      }),
    );
    expect(answers[1]).toEqual(answers[0]);
    expect(answers[2]).toEqual(answers[0]);
  });
});

describe('the audit application', () => {
  it('answers a health check without a token, and sends strict headers', async () => {
    const response = await get('/healthz');
    expect([response.status, await response.json()]).toEqual([200, { status: 'ok' }]);
    expect(response.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(response.headers.get('x-powered-by')).toBeNull();
  });

  it('serves its style sheets without a sign-in', async () => {
    for (const name of ['style.css', 'audit.css']) {
      const response = await get(`/assets/${name}`);
      expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/css; charset=utf-8']);
    }
  });

  it('has no methods that write', async () => {
    const headers = { authorization: `Bearer ${await aToken()}` };
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) {
      expect((await fetch(`${url}/outcome-records`, { method, headers })).status).toBe(404);
    }
  });

  it('refuses to start on a port that is taken', async () => {
    const config = configOn(Number(new URL(url).port));
    const secrets = {
      sessionSecret: 'a-secret-of-some-length',
      oidcClientSecret: 'another-secret-of-length',
      ...SEALING_SECRETS,
    };
    const start = startAudit(config, secrets, {
      ...systemTime,
      log: pino({ level: 'silent' }),
      databaseUrl: database.url,
    });
    await expect(start).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });
});
