import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { pino } from 'pino';
import { requestPersonToken } from '../../../../apps/shared/auth/client-credentials.ts';
import { createTokenVerifier } from '../../../../apps/shared/auth/access-token.ts';
import type { Config, Person } from '../../../../apps/shared/config/config.ts';
import {
  clientSecretOf,
  loadDevelopmentSecrets,
  type DevelopmentSecrets,
} from '../../../../apps/shared/config/development-secrets.ts';
import { startIdentityProvider } from '../../../../apps/shared/embedded/identity-provider.ts';
import type { Running } from '../../../../apps/shared/lifecycle.ts';
import { ChangingConfig } from '../../../support/changing-config.ts';
import { testConfig } from '../../../support/config.ts';
import { patiently, waitFor } from '../../../support/wait-for.ts';
import { systemTime } from '../../../support/time.ts';

const log = pino({ level: 'silent' });
let stateDir: string;
let config: Config;
let secrets: DevelopmentSecrets;
let provider: Running;

beforeAll(async () => {
  stateDir = mkdtempSync(join(tmpdir(), 'identity-'));
  secrets = await loadDevelopmentSecrets(stateDir);
  config = await testConfig({ baseDir: stateDir, stateDir }, { tools: { files__write: { scopes: ['files:write'] } } });
  provider = await startIdentityProvider(config, secrets, log);
});

afterAll(async () => {
  await provider.stop();
  rmSync(stateDir, { recursive: true });
});

async function restart(): Promise<void> {
  await provider.stop();
  provider = await startIdentityProvider(config, await loadDevelopmentSecrets(stateDir), log);
}

const tokenFor = (name: string, audience: 'mcp' | 'approvals' | 'audit' = 'mcp') =>
  requestPersonToken(config, secrets, { name, audience });

describe('tokens for programs', () => {
  it('are JWTs for one resource with the subject and the roles', async () => {
    const { accessToken, expiresIn } = await tokenFor('bob', 'approvals');
    expect(expiresIn).toBe(3600);
    expect(decodeProtectedHeader(accessToken)).toMatchObject({ alg: 'ES256', typ: 'at+jwt' });
    expect(decodeJwt(accessToken)).toMatchObject({
      iss: config.urls.issuer,
      aud: config.urls.approvals,
      sub: 'bob',
      client_id: 'bob',
      scope: 'approvals',
      name: 'Bob Approver',
      roles: ['approver', 'agent'],
    });
  });

  it('have every scope of the service, or the requested ones', async () => {
    const scopeOf = ({ accessToken }: { accessToken: string }) => decodeJwt(accessToken)['scope'];
    expect(scopeOf(await tokenFor('agent'))).toBe('mcp files:write');
    const less = requestPersonToken(config, secrets, { name: 'agent', audience: 'mcp', scope: 'mcp' });
    expect(scopeOf(await less)).toBe('mcp');
  });

  it('are for the MCP endpoint without a resource', async () => {
    const response = await fetch(`${config.urls.issuer}/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`agent:${clientSecretOf(secrets.identity, 'agent')}`)}` },
      body: new URLSearchParams({ grant_type: 'client_credentials', scope: 'mcp' }),
    });
    const { access_token: token } = (await response.json()) as { access_token: string };
    expect(decodeJwt(token)).toMatchObject({ aud: config.urls.mcp, sub: 'agent', scope: 'mcp' });
  });

  it('are refused with a wrong secret, for an unknown person, and for a foreign resource', async () => {
    const guessed = { identity: { ...secrets.identity, clientSecretKey: 'guess' } };
    const alice = { name: 'alice', audience: 'mcp' } as const;
    const elsewhere = { ...config, urls: { ...config.urls, mcp: 'https://elsewhere.example' } };
    for (const request of [
      () => requestPersonToken(config, guessed, alice),
      () => requestPersonToken(config, secrets, { ...alice, name: 'mallory' }),
      () => requestPersonToken(elsewhere, secrets, alice),
    ]) {
      await expect(request()).rejects.toMatchObject({ code: 'ERR_TOKEN_INVALID' });
    }
  });
});

describe('the verification of tokens', () => {
  it('names the subject of a token', async () => {
    const { accessToken } = await tokenFor('olivia', 'audit');
    expect(
      await createTokenVerifier(config, config.urls.audit, { log, ...systemTime }).verify(accessToken),
    ).toMatchObject({
      principal: { issuer: config.urls.issuer, subject: 'olivia', clientId: 'olivia' },
      roles: ['auditor'],
      scopes: ['audit'],
    });
  });

  it('refuses a token for another service, and one that was changed', async () => {
    const { accessToken } = await tokenFor('olivia', 'audit');
    const refused = { code: 'ERR_TOKEN_INVALID' };
    await expect(
      createTokenVerifier(config, config.urls.mcp, { log, ...systemTime }).verify(accessToken),
    ).rejects.toMatchObject(refused);
    const [head, , signature] = accessToken.split('.');
    const body = Buffer.from(JSON.stringify({ ...decodeJwt(accessToken), sub: 'alice' })).toString('base64url');
    const forged = [head, body, signature].join('.');
    await expect(
      createTokenVerifier(config, config.urls.audit, { log, ...systemTime }).verify(forged),
    ).rejects.toMatchObject(refused);
  });

  it('accepts a token after the provider was restarted', async () => {
    const { accessToken } = await tokenFor('agent');
    await restart();
    const verifier = createTokenVerifier(config, config.urls.mcp, { log, ...systemTime });
    // An old connection may still look open to the client.
    const verified = await waitFor(() => verifier.verify(accessToken).catch(() => undefined));
    expect(verified.principal.subject).toBe('agent');
  });

  it('reports an error when the provider does not answer', async () => {
    const { accessToken } = await tokenFor('agent');
    const away = await testConfig({ baseDir: stateDir, stateDir });
    await expect(
      createTokenVerifier(away, away.urls.mcp, { log, ...systemTime }).verify(accessToken),
    ).rejects.toMatchObject({
      code: 'ERR_IDENTITY_PROVIDER_UNAVAILABLE',
    });
  });
});

describe('startIdentityProvider', () => {
  const others: Running[] = [];
  afterEach(async () => {
    for (const other of others.splice(0)) await other.stop();
  });

  it('does not start in production, because it lets any visitor sign in as any person', async () => {
    const start = startIdentityProvider({ ...config, mode: 'production' }, secrets, log);
    await expect(start).rejects.toMatchObject({ code: 'ERR_CONFIG_INVALID' });
  });

  it('does not start with two people of one name', async () => {
    const people = [...config.identity.people, ...config.identity.people.slice(0, 1)];
    const start = startIdentityProvider({ ...config, identity: { ...config.identity, people } }, secrets, log);
    await expect(start).rejects.toThrow(/the name agent is already in use/);
  });

  it('rejects when its port is taken', async () => {
    await expect(startIdentityProvider(config, secrets, log)).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });

  it('writes roles into the configured claim', async () => {
    const other = await testConfig(
      { baseDir: stateDir, stateDir },
      { identity: { rolesClaim: 'https://x.example/roles' } },
    );
    others.push(await startIdentityProvider(other, secrets, log));
    const { accessToken } = await requestPersonToken(other, secrets, { name: 'olivia', audience: 'audit' });
    expect(
      (await createTokenVerifier(other, other.urls.audit, { log, ...systemTime }).verify(accessToken)).roles,
    ).toEqual(['auditor']);
  });
});

describe('a provider without passwords', () => {
  const alarmsOn = async (host: string) => {
    let lines = '';
    const written = pino({ level: 'info' }, { write: (line: string) => void (lines += line) });
    const elsewhere = await testConfig({ baseDir: stateDir, stateDir }, {});
    await (await startIdentityProvider({ ...elsewhere, host }, secrets, written)).stop();
    return /"alarm":"sign_in_without_password".*anyone there can sign in as anyone/.test(lines);
  };

  it('raises an alarm only where other machines reach it', async () => {
    expect(await Promise.all(['0.0.0.0', '::', '127.0.0.1', 'localhost'].map(alarmsOn))).toEqual([
      ...[true, true],
      ...[false, false],
    ]);
  });
});

describe('changed people and tools', () => {
  let live: ChangingConfig;
  beforeAll(async () => {
    await provider.stop();
    live = new ChangingConfig(config);
    provider = await startIdentityProvider(live.config, secrets, log, { live });
    // The connection to the provider of before may break first.
    await patiently(() => tokenFor('bob'));
  });
  afterAll(restart);
  const withPeople = (people: readonly Person[]): Config => ({
    ...config,
    identity: { ...config.identity, people: [...people] },
  });

  it('get and lose tokens and sign-in buttons without a restart', async () => {
    await expect(tokenFor('zoe')).rejects.toThrow('refuses zoe');
    await live.change(withPeople([{ name: 'zoe', displayName: 'Zoe', roles: ['approver'] }]));
    expect(decodeJwt((await tokenFor('zoe', 'approvals')).accessToken)).toMatchObject({
      name: 'Zoe',
      roles: ['approver'],
    });
    await expect(tokenFor('bob')).rejects.toThrow('refuses bob');
    await live.change(withPeople([{ name: 'zoe', displayName: 'Zoe', roles: ['auditor'] }]));
    expect(decodeJwt((await tokenFor('zoe', 'approvals')).accessToken)).toMatchObject({ roles: ['auditor'] });
    await live.change(config);
    await expect(tokenFor('zoe')).rejects.toThrow('refuses zoe');
    expect((await tokenFor('bob')).accessToken).not.toBe('');
  });

  it('are refused if a name is that of another client', async () => {
    const taken = withPeople([{ name: config.audit.clientId, roles: ['approver'] }]);
    await expect(live.change(taken)).rejects.toThrow(`the name ${config.audit.clientId} is already in use`);
  });

  it('may have tokens with the scopes that tools need by now', async () => {
    const scoped = (scopes: string[]): Config => ({ ...config, tools: { files__write: { scopes } } });
    await live.change(scoped(['files:other']));
    const asked = { name: 'bob', audience: 'mcp', scope: 'mcp files:other' } as const;
    expect(decodeJwt((await requestPersonToken(config, secrets, asked)).accessToken)['scope']).toBe('mcp files:other');
    await live.change(config);
  });
});
