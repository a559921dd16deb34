import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import type { ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import type { Finding } from '../../../apps/cli/commands/doctor/check.ts';
import { checkIdentity } from '../../../apps/cli/commands/doctor/identity.ts';
import { type Product, productOf } from '../../../apps/cli/commands/doctor/products.ts';
import { packagePath } from '../../../apps/shared/config/files.ts';
import { onFreePorts } from '../../support/config.ts';
import { DocumentServer } from '../../support/document-server.ts';
import { ShapedIssuers } from '../../support/issuer-shapes.ts';
import { Desk } from './run.ts';

const issuers = new ShapedIssuers();
beforeAll(() => issuers.start());
afterAll(() => issuers.stop());
afterEach(() => {
  issuers.metadata = {};
  issuers.keys = undefined;
});

const named = (findings: readonly Finding[]) => Object.fromEntries(findings.map((one) => [one.name, one]));

describe('the issuer, without a token', () => {
  const whole = {
    scopes_supported: ['openid', 'mcp', 'approvals', 'audit'],
    code_challenge_methods_supported: ['S256'],
    end_session_endpoint: 'https://idp.example.com/logout',
  };
  const check = async (metadata: Record<string, unknown>, product: Product = 'Keycloak') => {
    issuers.metadata = metadata;
    return named(await checkIdentity(issuers.configFor(product)));
  };

  it('has all that can be known', async () => {
    const found = await check(whole);
    expect(Object.values(found).map(({ status }) => status)).toEqual(['ok', 'ok', 'ok', 'ok']);
    expect(found['identity']?.message).toMatch(/[(]Keycloak[)], keys for signatures: 1$/);
  });

  it.each([
    ['identity scopes', { scopes_supported: ['openid', 'mcp'] }, /does not list approvals, audit$/],
    ['identity hosts', { code_challenge_methods_supported: ['plain'] }, /PKCE/],
    ['identity sign-out', { end_session_endpoint: undefined }, /no sign-out endpoint/],
  ])('is warned of in %s', async (name, changes, message) => {
    const { [name]: finding, ...others } = await check({ ...whole, ...changes });
    expect(finding).toMatchObject({ status: 'warn', message: expect.stringMatching(message) });
    expect(Object.values(others).map(({ status }) => status)).toEqual(['ok', 'ok', 'ok']);
  });

  it('is not warned of where a product never lists the scopes of APIs', async () => {
    const found = await check({ ...whole, scopes_supported: ['openid'] }, 'Auth0');
    expect(found['identity scopes']).toMatchObject({ status: 'ok', message: expect.stringContaining('--token-file') });
  });

  it.each([
    ['with keys for encryption only', { kty: 'RSA', use: 'enc', alg: 'RSA-OAEP' }],
    ['with a shared key', { kty: 'oct', use: 'sig' }],
    ['with a key of an algorithm that is not accepted', { kty: 'RSA', use: 'sig', alg: 'RS1' }],
  ])('fails %s', async (_what, key) => {
    issuers.keys = [key];
    expect(await check(whole)).toEqual({ identity: expect.objectContaining({ status: 'fail' }) });
  });

  it('fails with keys that others can replace on their way', async () => {
    const { identity } = await check({ ...whole, jwks_uri: 'http://idp.example.com/jwks' });
    expect(identity).toMatchObject({ status: 'fail', message: expect.stringContaining('not served over https') });
  });

  it('is the one with the tenant and version 2 at Entra ID', async () => {
    issuers.metadata = { issuer: 'https://sts.windows.net/t/', token_endpoint: 'https://x.test/t/oauth2/v2.0/token' };
    const { identity } = named(await checkIdentity(issuers.configFor('Entra ID')));
    expect(identity?.advice).toContain('https://login.microsoftonline.com/<tenant id>/v2.0');
  });
});

describe('an issuer whose certificate a private authority signed', () => {
  const server = new DocumentServer();
  const run = promisify(execFile);
  beforeAll(async () => {
    await server.start();
    const issuer = new URL(server.idOf('/')).origin;
    const key = { kty: 'EC', use: 'sig', alg: 'ES256', kid: 'one' };
    const json = (body: object) => (response: ServerResponse) =>
      void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    server.answers.set('/.well-known/openid-configuration', json({ issuer, jwks_uri: `${issuer}/jwks` }));
    server.answers.set('/jwks', json({ keys: [key] }));
  });
  afterAll(() => server.stop());

  /** What `doctor` prints in a process of its own: Node reads such a variable when it starts. */
  async function startedWith(variables: object, { folder, stateDir }: Desk): Promise<string> {
    const main = packagePath('dist', 'apps', 'cli', 'main.js');
    const env = { ...process.env, COUNTERSIGN_STATE: stateDir, ...variables };
    const { stdout } = await run(process.execPath, [main, 'doctor'], { cwd: folder, env }).catch(
      (failure: unknown) => failure as { stdout: string },
    );
    return stdout;
  }

  it.each([
    [
      'is refused, with the variable that helps',
      undefined,
      /fail {2}identity +.*certificate.*\n +.*NODE_EXTRA_CA_CERTS/,
    ],
    [
      'is trusted with NODE_EXTRA_CA_CERTS',
      { NODE_EXTRA_CA_CERTS: packagePath('test', 'fixtures', 'tls', 'ca.pem') },
      /ok {4}identity +https:.*keys for signatures: 1/,
    ],
  ])('%s', async (_what, variables, said) => {
    const ports = await onFreePorts();
    const issuer = new URL(server.idOf('/')).origin;
    const desk = new Desk({ ...ports, identity: { ...ports.identity, issuer } });
    const printed = variables === undefined ? (await desk.run(['doctor'])).out : await startedWith(variables, desk);
    expect(printed).toMatch(said);
  });
});

it.each([
  ['https://idp.example.com/realms/main', '', 'Keycloak'],
  ['https://login.microsoftonline.com/t/v2.0', '', 'Entra ID'],
  ['https://sts.windows.net/t/', '', 'Entra ID'],
  ['https://acme.okta.com/oauth2/default', '', 'Okta'],
  ['https://login.acme.com/oauth2/default', 'https://login.acme.com/oauth2/default/v1/token', 'Okta'],
  ['https://acme.eu.auth0.com/', '', 'Auth0'],
  ['https://login.acme.com/', 'https://login.acme.com/oauth/token', 'Auth0'],
  ['https://login.acme.com/', 'https://login.acme.com/token', undefined],
  ['https://okta.com.evil.example/x', '', undefined],
])('recognizes the product behind %s %s', (issuer, endpoint, product) => {
  expect(productOf(issuer, endpoint)).toBe(product);
});
