import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import express from 'express';
import { pino } from 'pino';
import { authenticate } from '../../apps/gateway/mcp/authentication.ts';
import { resourceMetadata } from '../../apps/gateway/mcp/resource.ts';
import { createTokenVerifier } from '../../apps/shared/auth/access-token.ts';
import { mcpAudience } from '../../apps/shared/auth/client-credentials.ts';
import { checkFreshSignIn } from '../../apps/shared/auth/fresh-sign-in.ts';
import { aliasesOf } from '../../apps/shared/auth/principal-of.ts';
import type { Config } from '../../apps/shared/config/config.ts';
import { behind, partIn, partiesOf } from '../../workflows/domain/access-request/parties.ts';
import { API, type Claims, MCP, PRODUCTS, ShapedIssuers, SHAPES, TENANT } from '../support/issuer-shapes.ts';
import { serve } from '../support/serve.ts';
import { systemTime } from '../support/time.ts';

const issuers = new ShapedIssuers();
beforeAll(() => issuers.start());
afterAll(() => issuers.stop());

const log = pino({ level: 'silent' });
const verifierOf = (config: Config) => createTokenVerifier(config, mcpAudience(config), { ...systemTime, log });

/** The status with which the gateway's door answers this token. */
async function knock(config: Config, token: string): Promise<number> {
  const door = authenticate({ config, verifier: verifierOf(config), log });
  const server = await serve(express().post('/', door, (_request, response) => void response.status(204).end()));
  const answer = await fetch(server.url, { method: 'POST', headers: { authorization: `Bearer ${token}` } });
  await server.close();
  expect(answer.headers.get('www-authenticate') ?? '').not.toContain('scope=""');
  return answer.status;
}

describe.each(PRODUCTS)('a token of %s', (product) => {
  const { person, program, client, signIn } = SHAPES[product];
  const sign = (claims: Claims) => issuers.sign(product, claims);
  const config = (more?: Record<string, object>) => issuers.configFor(product, more);

  it('of a person through a host names subject, client, scope and role', async () => {
    expect(await verifierOf(config()).verify(await sign(person))).toMatchObject({
      principal: { issuer: issuers.issuerOf(product), subject: person.sub, clientId: client.ofPerson },
      scopes: expect.arrayContaining(['mcp']),
      roles: expect.arrayContaining(['approver']),
    });
    expect(await knock(config(), await sign(person))).toBe(204);
  });

  it('of a program names subject, client and role', async () => {
    expect(await verifierOf(config()).verify(await sign(program))).toMatchObject({
      principal: { subject: program.sub, clientId: client.ofProgram },
      roles: ['agent'],
    });
  });

  it.each([
    ['of another issuer', { iss: 'https://evil.example.com/' }, 401],
    ['for another service', { aud: 'https://elsewhere.example.com/mcp' }, 401],
    ['for a longer name of this service', { aud: [`${MCP}/`, `${API}0`] }, 401],
    ['for no service', { aud: undefined }, 401],
    ['without a subject', { sub: undefined }, 401],
    ['without a client', { azp: undefined, client_id: undefined, cid: undefined }, 401],
    ['with a list in place of a client', { azp: ['one'], client_id: undefined, cid: ['one'] }, 401],
    ['without a scope', { scope: undefined, scp: undefined }, 403],
    ['with a longer scope', { scope: 'mcp2 my-mcp', scp: undefined }, 403],
    ['with a scope inside another value', { scope: undefined, scp: [['mcp'], { mcp: true }, 'mcp mcp'] }, 403],
  ] as const)('is refused %s', async (_what, changes, status) => {
    expect(await knock(config(), await sign({ ...person, ...changes }))).toBe(status);
  });

  it('of a sign-in at the pages is no access token', async () => {
    expect(await knock(config(), await sign({ ...signIn, scope: 'mcp', azp: 'any' }))).toBe(401);
  });

  it('lets its person decide neither their own call nor one that their client made', async () => {
    const { principal } = await verifierOf(config()).verify(await sign(person));
    const { issuer: iss, subject: sub, clientId: agent = '', aliases = [] } = principal;
    const requester = { iss, sub, aliases: [...aliases] };
    const parties = partiesOf({ subject: { id: sub }, context: { agent }, client: { source: { requester } } });
    const inbox = [String(signIn.sub), ...behind({ aliases: aliasesOf(signIn, 'sub') })];
    expect(partIn({ parties, delegates: [] }, inbox)).toBe('own_request');
    expect(partIn({ parties, delegates: [] }, ['another-person', client.ofPerson])).toBe('own_request');
    expect(partIn({ parties, delegates: [] }, ['another-person', TENANT, 'countersign-web'])).toBeUndefined();
  });

  it('of a fresh sign-in at the pages is accepted only with its time, and for the person of the session', () => {
    const nowMs = 1_800_000_000_000;
    const claims = { ...signIn, iss: issuers.issuerOf(product), sub: String(signIn.sub) };
    const session = { issuer: claims.iss, subject: claims.sub, name: 'Alice' };
    const check =
      (more: object, person = session) =>
      () =>
        checkFreshSignIn({ ...claims, ...more }, { person, askedAt: nowMs - 20_000, returnTo: '/' }, nowMs);
    expect(check({ auth_time: nowMs / 1_000 - 5 })).not.toThrow();
    for (const more of [{}, { auth_time: '1800000000' }, { auth_time: 1_467_142_021 }, { auth_time: 1_800_009_000 }]) {
      expect(check(more)).toThrow('The identity provider did not sign you in again');
    }
    const another = check({ auth_time: nowMs / 1_000 }, { ...session, subject: 'another-person' });
    expect(another).toThrow('You signed in as another person');
  });

  it.each([
    ['constructor.name', { constructor: { name: 'approver' } }, ['approver']],
    ['constructor.name', {}, []],
    ['toString', {}, []],
    ['__proto__.roles', {}, []],
    ['realm_access.__proto__.roles', { realm_access: { roles: ['approver'] } }, []],
    ['realm_access.constructor.name', { realm_access: {} }, []],
    ['realm_access.roles.0', { realm_access: { roles: ['approver'] } }, []],
    ['realm_access.roles.length', { realm_access: { roles: ['approver'] } }, []],
    ['roles', { roles: [['approver'], { approver: true }, 1, null, true] }, []],
    ['roles', { roles: { 0: 'approver', length: 1 } }, []],
    [
      'roles',
      { roles: ['approver\u0000', 'approver auditor', ' approver'] },
      [/^approver.$/, /^approver auditor$/, /^ /],
    ],
  ] as const)('has by the path %s of %j only the roles that are there', async (rolesClaim, claims, roles) => {
    const token = await sign({ ...person, roles: undefined, realm_access: undefined, ...claims });
    const found = await verifierOf(config({ identity: { rolesClaim } })).verify(token);
    expect(found.roles).toEqual(roles.map((one) => (typeof one === 'string' ? one : expect.stringMatching(one))));
  });
});

describe('two claims that name different clients', () => {
  it.each([
    [{ client_id: 'host', azp: 'agent' }, 'host', ['host', 'agent']],
    [{ client_id: 'host', azp: 'agent', cid: 'third' }, 'host', ['host', 'agent']],
    [{ client_id: undefined, azp: 'agent', cid: 'third' }, 'agent', ['agent']],
  ])('%j: the call belongs to the first, and neither of the two can decide it', async (claims, owner, parts) => {
    const token = await issuers.sign('Keycloak', { ...SHAPES.Keycloak.person, ...claims });
    const { principal } = await verifierOf(issuers.configFor('Keycloak')).verify(token);
    expect(principal.clientId).toBe(owner);
    expect(behind(principal).toSorted()).toEqual(parts.toSorted());
  });

  it('a client that cannot be read is not replaced by another claim', async () => {
    for (const claims of [{ client_id: 7 }, { client_id: '' }, { client_id: ['host'] }, { azp: { id: 'host' } }]) {
      const token = await issuers.sign('Keycloak', { ...SHAPES.Keycloak.person, cid: 'host', ...claims });
      expect(await knock(issuers.configFor('Keycloak'), token)).toBe(401);
    }
  });
});

describe('Entra ID', () => {
  const { person, program } = SHAPES['Entra ID'];

  it('refuses a token of another tenant, or of version 1', async () => {
    const config = issuers.configFor('Entra ID');
    for (const iss of [issuers.issuerOf('Entra ID').replace(TENANT, API), `https://sts.windows.net/${TENANT}/`])
      expect(await knock(config, await issuers.sign('Entra ID', { ...person, iss }))).toBe(401);
  });

  it('lets a program without a person through only where no scope is necessary', async () => {
    const token = await issuers.sign('Entra ID', program);
    expect(await knock(issuers.configFor('Entra ID'), token)).toBe(403);
    const config = issuers.configFor('Entra ID', { gateway: { scopes: [] } });
    expect(await knock(config, token)).toBe(204);
    expect(await knock(config, 'no token')).toBe(401);
  });

  it('accepts the name of the API as its audience', async () => {
    const config = issuers.configFor('Entra ID', { gateway: { audience: 'api://countersign' } });
    const token = (aud: string) => issuers.sign('Entra ID', { ...person, aud });
    expect(await knock(config, await token('api://countersign'))).toBe(204);
    expect(await knock(config, await token(API))).toBe(401);
    expect(await knock(config, await token(MCP))).toBe(401);
  });
});

it('refuses a token of the org authorization server of Okta, which is for Okta only', async () => {
  const token = await issuers.sign('Okta', SHAPES.Okta.person, 'application/okta-internal-at+jwt');
  expect(await knock(issuers.configFor('Okta'), token)).toBe(401);
});

it('takes a token of Auth0 with the profile of RFC 9068', async () => {
  const { azp, ...person } = SHAPES.Auth0.person;
  const token = await issuers.sign('Auth0', { ...person, client_id: azp }, 'at+jwt');
  expect(await knock(issuers.configFor('Auth0'), token)).toBe(204);
});

it('refuses a token of Auth0 whose issuer lacks the slash', async () => {
  const iss = issuers.issuerOf('Auth0').replace(/\/$/, '');
  expect(await knock(issuers.configFor('Auth0'), await issuers.sign('Auth0', { ...SHAPES.Auth0.person, iss }))).toBe(
    401,
  );
});

describe('the audience of the gateway', () => {
  const read = (more: Record<string, object>) => () => issuers.configFor('Entra ID', more);

  it.each([
    ['the client of the inbox', { gateway: { audience: 'countersign-web' } }],
    ["the client of the auditors' pages", { gateway: { audience: 'app' }, audit: { clientId: 'app' } }],
    ['the address of the inbox', { gateway: { audience: 'http://a.test' }, approvals: { url: 'http://a.test' } }],
    ['its address without a slash', { gateway: { audience: 'http://a.test' }, approvals: { url: 'http://a.test/' } }],
  ])('cannot be %s, whose tokens are for other purposes', (_what, more) => {
    expect(read(more)).toThrow(/register the gateway separately/);
  });

  it('cannot be set for the embedded issuer', () => {
    expect(read({ identity: { issuer: undefined } })).toThrow(/leave this out, or set identity.issuer/);
  });

  it('leaves the address in the metadata, by which clients know the resource', () => {
    const config = issuers.configFor('Entra ID', { gateway: { scopes: [] } });
    const metadata = resourceMetadata(config, new URL(MCP));
    expect(metadata).toMatchObject({ resource: MCP, authorization_servers: [issuers.issuerOf('Entra ID')] });
    expect(JSON.stringify(metadata)).not.toContain('scopes_supported');
  });
});
