import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Finding } from '../../../apps/cli/commands/doctor/check.ts';
import { examineToken } from '../../../apps/cli/commands/doctor/token.ts';
import { onFreePorts } from '../../support/config.ts';
import { API, type Claims, MCP, PRODUCTS, ShapedIssuers, SHAPES } from '../../support/issuer-shapes.ts';
import { Desk } from './run.ts';

const issuers = new ShapedIssuers();
beforeAll(() => issuers.start());
afterAll(() => issuers.stop());
afterEach(() => {
  issuers.metadata = {};
});

const named = (findings: readonly Finding[]) => Object.fromEntries(findings.map((one) => [one.name, one]));

describe.each(PRODUCTS)('a token of %s', (product) => {
  const examine = async (changes: Claims = {}, more: Record<string, object> = {}) => {
    const token = await issuers.sign(product, { ...SHAPES[product].person, ...changes });
    const findings = await examineToken(issuers.configFor(product, more), token);
    expect(JSON.stringify(findings)).not.toContain(token.split('.')[2]);
    return named(findings);
  };

  it('has all that the gateway needs', async () => {
    expect(Object.values(await examine()).map(({ name, status }) => [name, status])).toEqual([
      ['token', 'ok'],
      ['token audience', 'ok'],
      ['token subject', 'ok'],
      ['token client', 'ok'],
      ['token scopes', 'ok'],
      ['token roles', 'ok'],
    ]);
  });

  it.each<[string, Claims, Record<string, string>]>([
    [
      'token audience',
      { aud: 'elsewhere' },
      {
        Keycloak: 'Included Custom Audience',
        'Entra ID': 'gateway.audience',
        Okta: 'Audience https',
        Auth0: 'Identifier',
      },
    ],
    ['token subject', { sub: undefined }, { Keycloak: 'basic', 'Entra ID': 'sub', Okta: 'sub', Auth0: 'sub' }],
    [
      'token client',
      { azp: undefined, cid: undefined, client_id: undefined },
      { Keycloak: 'azp', 'Entra ID': 'requestedAccessTokenVersion', Okta: 'cid', Auth0: 'RFC 9068' },
    ],
    [
      'token scopes',
      { scope: 'profile', scp: undefined },
      {
        Keycloak: 'Include in token scope',
        'Entra ID': 'Expose an API',
        Okta: 'Scopes: add mcp',
        Auth0: 'Permissions',
      },
    ],
    [
      'token roles',
      { roles: undefined, realm_access: undefined, 'https://countersign.example.com/roles': undefined },
      { Keycloak: 'realm_access.roles', 'Entra ID': 'App roles', Okta: 'Claims', Auth0: 'Action' },
    ],
  ])('lacks the %s: says where to provide it', async (name, changes, places) => {
    const finding = (await examine(changes))[name];
    expect(finding?.status).toBe(name === 'token roles' ? 'warn' : 'fail');
    expect(finding?.message).toMatch(/missing|has to contain/);
    expect(finding?.advice).toMatch(new RegExp(`^${product}: .*${places[product]}`));
  });

  it('of another issuer is refused, with the form of the right one', async () => {
    const { token } = await examine({ iss: 'https://evil.example.com/' });
    expect(token).toMatchObject({ status: 'fail', message: expect.stringContaining('`iss` is') });
    expect(token?.advice).toMatch(new RegExp(`^${product}: `));
  });

  it('is refused when it has expired or its signature is not valid', async () => {
    expect((await examine({ exp: 1_000_000 }))['token']?.message).toContain('it has expired');
    const token = await issuers.sign(product, SHAPES[product].person);
    const [verdict] = await examineToken(issuers.configFor(product), `${token.slice(0, -8)}AAAAAAAA`);
    expect(verdict?.message).toContain("its signature is not the issuer's");
  });
});

describe('a token for the people who decide and audit', () => {
  const examine = async (claims: Claims, more?: Parameters<typeof examineToken>[2]) => {
    const config = issuers.configFor('Keycloak', {
      approvals: { url: 'https://inbox.example.com' },
      audit: { url: 'https://audit.example.com' },
    });
    return named(await examineToken(config, await issuers.sign('Keycloak', claims), more));
  };
  const { person } = SHAPES.Keycloak;

  it('is examined for the service that its audience names', async () => {
    const found = await examine({ ...person, aud: ['account', 'https://inbox.example.com'], scope: 'approvals' });
    expect(Object.values(found).filter(({ status }) => status !== 'ok')).toEqual([]);
  });

  it('needs the role and the scope of that service', async () => {
    const found = await examine({ ...person, aud: 'https://audit.example.com' });
    expect(found['token scopes']?.message).toMatch(/^audit is missing/);
    expect(found['token roles']).toMatchObject({ status: 'fail', message: expect.stringContaining('needs auditor') });
    expect(found['token roles']?.advice).toBe('assign auditor at the issuer');
  });

  it('is examined for another service on demand', async () => {
    expect((await examine(person, 'approvals'))['token audience']).toMatchObject({
      status: 'fail',
      message: `aud is ${MCP}, account, and has to contain https://inbox.example.com`,
    });
  });
});

it('names the claim that has the roles when identity.rolesClaim names another', async () => {
  const config = issuers.configFor('Keycloak', { identity: { rolesClaim: 'roles' } });
  const found = named(await examineToken(config, await issuers.sign('Keycloak', SHAPES.Keycloak.person)));
  expect(found['token roles']).toMatchObject({
    status: 'warn',
    message: expect.stringContaining('roles is missing or empty'),
    advice: 'set identity.rolesClaim to realm_access.roles',
  });
});

it('names every product where the issuer is none that it knows', async () => {
  issuers.metadata = { token_endpoint: 'https://idp.example.com/token' };
  const config = issuers.configFor('Okta');
  const found = named(await examineToken(config, await issuers.sign('Okta', { ...SHAPES.Okta.person, scp: [] })));
  expect(found['token scopes']?.advice?.split('\n').map((line) => line.split(':')[0])).toEqual([
    'Keycloak',
    'Entra ID',
    'Okta',
    'Auth0',
  ]);
});

describe('doctor --token-file', () => {
  const desk = async (more: Record<string, object> = {}) => {
    const { gateway, identity } = issuers.configFor('Entra ID');
    const ports = await onFreePorts();
    return new Desk({
      ...ports,
      gateway: { ...ports.gateway, audience: gateway.audience },
      identity: { ...ports.identity, issuer: identity.issuer, ...more['identity'] },
    });
  };
  const token = (claims: Claims = {}) => issuers.sign('Entra ID', { ...SHAPES['Entra ID'].person, ...claims });

  it('reads a file and standard input, also the answer of a token endpoint, and prints no token', async () => {
    const [at, good] = [await desk(), await token()];
    writeFileSync(join(at.folder, 'token'), `Bearer ${good}\n`);
    const answer = JSON.stringify({ access_token: good, token_type: 'Bearer', expires_in: 3_600 });
    for (const { args, given } of [
      { args: ['--token-file', 'token'], given: {} },
      { args: ['--token-file', '-'], given: { input: good } },
      { args: ['--token-file', '-'], given: { input: answer } },
      { args: [], given: { env: { COUNTERSIGN_TOKEN: good } } },
    ]) {
      const { code, out, err } = await at.run(['doctor', ...args], given);
      expect(out).toMatch(new RegExp(`ok +token audience +${API}`));
      expect(out).toMatch(/ok {4}token {13}its signature and lifetime are valid for the gateway/);
      expect(code).toBe(0);
      for (const part of good.split('.')) expect(out + err).not.toContain(part);
    }
  });

  it('prints the place of a missing claim below it, and fails', async () => {
    const { code, out } = await (
      await desk()
    ).run(['doctor', '--token-file', '-'], { input: await token({ scp: '' }) });
    expect(out).toMatch(
      /fail {2}token scopes +mcp is missing in scope and scp; the token has none\n {24}Entra ID: scp; /,
    );
    expect(code).toBe(1);
  });

  it('accepts a token without a client as a warning where the configuration allows it', async () => {
    const at = await desk({ identity: { allowTokensWithoutClient: true } });
    const { code, out } = await at.run(['doctor', '--token-file', '-'], { input: await token({ azp: undefined }) });
    expect(out).toMatch(/warn {2}token client +client_id, azp and cid are missing/);
    expect(code).toBe(0);
  });

  it('says what an opaque token is', async () => {
    const { code, out, err } = await (await desk()).run(['doctor', '--token-file', '-'], { input: 'opaque-canary' });
    expect(out).toMatch(/fail {2}token +it is no JWT/);
    expect(out + err).not.toContain('opaque-canary');
    expect(code).toBe(1);
  });

  it('does not repeat a token that stands in place of the file', async () => {
    const good = await token();
    const { code, out, err } = await (await desk()).run(['doctor', '--token-file', good]);
    expect([code, out]).toEqual([2, '']);
    expect(err).toContain('name a file with the token, or - for standard input');
    expect(err).not.toContain(good.slice(0, 20));
  });
});
