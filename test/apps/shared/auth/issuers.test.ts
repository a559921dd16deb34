import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import express from 'express';
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT, type JWTPayload } from 'jose';
import { Pool } from 'pg';
import { pino } from 'pino';
import { createAccessTokenVerifier } from '../../../../apps/shared/auth/access-token.ts';
import { createSignIn } from '../../../../apps/shared/auth/sign-in.ts';
import { checkIdentity } from '../../../../apps/cli/commands/doctor/identity.ts';
import { parseConfig } from '../../../../apps/shared/config/config.ts';
import type { HttpServer } from '../../../../apps/shared/http/listen.ts';
import { serve } from '../../../support/serve.ts';
import { PATIENT_FACTOR, systemTime } from '../../../support/time.ts';

const AUDIENCE = 'https://gateway.test/mcp';
const DAY = 86_400;

let server: HttpServer;
let signing: Awaited<ReturnType<typeof generateKeyPair>>;
/** Issuer names as products write them: with the path below the server, which the metadata repeat exactly. */
const ISSUERS = {
  'with a slash at its end': '/',
  'with a path and a slash at its end': '/application/o/countersign/',
  'with a path and no slash': '/realms/main',
} as const;

beforeAll(async () => {
  signing = await generateKeyPair('ES256');
  const jwk = { ...(await exportJWK(signing.publicKey)), kid: 'one', alg: 'ES256', use: 'sig' };
  server = await serve(
    express()
      .get('/jwks', (_request, response) => void response.json({ keys: [jwk] }))
      .get(/(.*\/)[.]well-known\/openid-configuration$/, (request, response) => {
        const below = request.path.replace('.well-known/openid-configuration', '');
        const path = Object.values(ISSUERS).find((one) => `${one.replace(/\/$/, '')}/` === below) ?? below;
        response.json({
          issuer: `${server.url}${path}`,
          jwks_uri: `${server.url}/jwks`,
          authorization_endpoint: `${server.url}${below}authorize`,
          token_endpoint: `${server.url}${below}token`,
          response_types_supported: ['code'],
          subject_types_supported: ['public'],
          id_token_signing_alg_values_supported: ['ES256'],
        });
      }),
  );
});
afterAll(() => server.close());

const now = () => Math.floor(Date.now() / 1_000);
const issuerAt = (path: string) => `${server.url}${path}`;
const configFor = (issuer: string, more: object = {}) =>
  parseConfig({ timeLimitFactor: PATIENT_FACTOR, identity: { issuer }, ...more }, { baseDir: '/', stateDir: '/' });

/** Signed by the issuers. A claim that is `undefined` is left out. */
function signed(claims: JWTPayload = {}, header: { typ?: string } = {}): Promise<string> {
  const payload = { iss: issuerAt('/'), aud: AUDIENCE, sub: 'alice', iat: now(), exp: now() + 600, ...claims };
  return new SignJWT(payload).setProtectedHeader({ alg: 'ES256', kid: 'one', ...header }).sign(signing.privateKey);
}

/** A verifier, and its reasons for refusals. */
function verifierFor(of: { issuer?: string; rolesClaim?: string } = {}) {
  const reasons: unknown[] = [];
  const log = pino(
    {},
    { write: (line: string) => void reasons.push((JSON.parse(line) as { reason?: string }).reason) },
  );
  const { issuer = issuerAt('/'), rolesClaim = 'roles' } = of;
  const verify = createAccessTokenVerifier({
    ...systemTime,
    issuer,
    audience: AUDIENCE,
    rolesClaim,
    maxLifetimeSeconds: DAY,
    log,
  });
  return { verify, reasons };
}

describe.each(Object.entries(ISSUERS))('an issuer %s', (_how, path) => {
  const issuer = () => issuerAt(path);

  it('is accepted when it is configured with exactly this name', async () => {
    const { verify } = verifierFor({ issuer: issuer() });
    expect(await verify(await signed({ iss: issuer() }))).toMatchObject({ principal: { issuer: issuer() } });
  });

  it("passes the doctor's check", async () => {
    expect(await checkIdentity(configFor(issuer()))).toMatchObject([
      { status: 'ok', message: expect.stringContaining(issuer()) },
      {},
      {},
      {},
    ]);
  });

  it('can be used for sign-in', async () => {
    const pool = new Pool();
    const { handlers, close } = createSignIn({
      ...systemTime,
      config: configFor(issuer(), { approvals: { url: 'http://inbox.test' } }),
      site: 'approvals',
      secrets: { sessionSecret: 'a secret of sessions', oidcClientSecret: 'secret' },
      ...{ pool, databaseUrl: 'postgres://127.0.0.1:1/none' },
      log: pino({ level: 'silent' }),
    });
    const site = await serve(express().use(...handlers));
    const { headers } = await fetch(`${site.url}/sign-in`, { redirect: 'manual' });
    expect(headers.get('location')).toMatch(`${issuer().replace(/\/$/, '')}/authorize?`);
    await close();
    await site.close();
    await pool.end();
  });
});

it('names the issuer to configure when only the slash differs', async () => {
  expect(await checkIdentity(configFor(server.url))).toMatchObject([
    {
      status: 'fail',
      advice: `set identity.issuer to ${issuerAt('/')}`,
    },
  ]);
  await expect(verifierFor({ issuer: server.url }).verify(await signed())).rejects.toMatchObject({
    code: 'ERR_IDENTITY_PROVIDER_UNAVAILABLE',
    cause: { message: expect.stringContaining('set identity.issuer to exactly that') },
  });
});

it.each([
  ['scope, a text', { scope: 'mcp tools' }],
  ['scope, a list', { scope: ['mcp', 'tools'] }],
  ['scp, a list (Okta)', { scp: ['mcp', 'tools'] }],
  ['scp, a text (Entra ID)', { scp: 'mcp tools' }],
  ['both, half in each', { scope: 'mcp', scp: ['mcp', 'tools'] }],
])('reads scopes from %s', async (_where, claims) => {
  expect(await verifierFor().verify(await signed(claims))).toMatchObject({ scopes: ['mcp', 'tools'] });
});

it.each([
  ['roles', { roles: ['approver'] }],
  ['roles', { roles: 'approver' }],
  ['realm_access.roles', { realm_access: { roles: ['approver'] } }],
  ['resource_access.countersign.roles', { resource_access: { countersign: { roles: ['approver'] } } }],
  ['https://example.com/roles', { 'https://example.com/roles': ['approver'] }],
  ['cognito:groups', { 'cognito:groups': ['approver'] }],
])('reads roles from %s', async (rolesClaim, claims) => {
  expect(await verifierFor({ rolesClaim }).verify(await signed(claims))).toMatchObject({ roles: ['approver'] });
});

it.each([
  ['realm_access.roles', { realm_access: ['approver'] }],
  ['realm_access.roles', { realm_access: 'approver' }],
  ['realm_access.roles', { roles: ['approver'] }],
  ['a.__proto__.roles', { a: {}, roles: ['approver'] }],
  ['roles', { roles: { 0: 'approver' } }],
])('finds no role in %s of %j', async (rolesClaim, claims) => {
  expect(await verifierFor({ rolesClaim }).verify(await signed(claims as JWTPayload))).toMatchObject({ roles: [] });
});

it('accepts tokens for several services', async () => {
  expect(await verifierFor().verify(await signed({ aud: ['https://other.test', AUDIENCE] }))).toBeDefined();
});

it.each(['at+jwt', 'application/at+jwt', 'AT+JWT', 'JWT'])('accepts a token of the type %s', async (typ) => {
  expect(await verifierFor().verify(await signed({}, { typ }))).toBeDefined();
});

it.each([
  ['a logout token', {}, 'logout+jwt', /type is "logout\+jwt"/],
  ['a security event', {}, 'secevent+jwt', /type is "secevent\+jwt"/],
  ['a proof of possession', {}, 'dpop+jwt', /type is "dpop\+jwt"/],
  [
    'a logout token without a type',
    { events: { 'http://schemas.openid.net/event/backchannel-logout': {} } },
    'JWT',
    /events/,
  ],
  ['a token issued in the future', { iat: 4_000_000_000, exp: 4_000_000_600 }, 'JWT', /in the future/],
  ['a token that is good for ten years', { exp: 4_000_000_000 }, 'JWT', /maxTokenLifetimeSeconds allows 86400/],
  ['a token without its issue time', { iat: undefined, exp: 4_000_000_000 }, 'JWT', /maxTokenLifetimeSeconds/],
  ['a token that is not valid yet', { nbf: 4_000_000_000 }, 'JWT', /nbf/],
  ['a token of another issuer', { iss: 'https://evil.test' }, 'JWT', /`iss` is "https:\/\/evil\.test"/],
  ['a token for another service', { aud: 'https://other.test' }, 'JWT', /`aud` is "https:\/\/other\.test"/],
  ['a token without a subject', { sub: undefined }, 'JWT', /no `sub`/],
  ['a token without an expiry', { exp: undefined }, 'JWT', /no `exp`/],
])('refuses %s, and logs why', async (_what, claims, typ, why) => {
  const { verify, reasons } = verifierFor();
  expect(await verify(await signed(claims as JWTPayload, { typ }))).toBeUndefined();
  expect(reasons).toEqual([expect.stringMatching(why)]);
});

it('refuses an unsigned token', async () => {
  const { verify } = verifierFor();
  const claims = { iss: issuerAt('/'), aud: AUDIENCE, sub: 'alice', iat: now(), exp: now() + 600 };
  expect(await verify(new UnsecuredJWT(claims).encode())).toBeUndefined();
});
