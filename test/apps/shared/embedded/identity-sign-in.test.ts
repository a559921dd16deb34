import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as oidc from 'openid-client';
import { pino } from 'pino';
import type { Config } from '../../../../apps/shared/config/config.ts';
import { loadDevelopmentSecrets, type DevelopmentSecrets } from '../../../../apps/shared/config/development-secrets.ts';
import { startIdentityProvider } from '../../../../apps/shared/embedded/identity-provider.ts';
import type { Running } from '../../../../apps/shared/lifecycle.ts';
import { Browser } from '../../../support/browser.ts';
import { testConfig } from '../../../support/config.ts';

let stateDir: string;
let config: Config;
let secrets: DevelopmentSecrets;
let provider: Running;

beforeAll(async () => {
  stateDir = mkdtempSync(join(tmpdir(), 'identity-'));
  secrets = await loadDevelopmentSecrets(stateDir);
  config = await testConfig({ baseDir: stateDir, stateDir });
  provider = await startIdentityProvider(config, secrets, pino({ level: 'silent' }));
});

afterAll(async () => {
  await provider.stop();
  rmSync(stateDir, { recursive: true });
});

describe('sign-in of people', () => {
  async function begin(redirectUri: string) {
    const client = await oidc.discovery(
      new URL(config.urls.issuer),
      'countersign-web',
      secrets.secrets.oidcClientSecret,
      undefined,
      { execute: [oidc.allowInsecureRequests] },
    );
    const pkceCodeVerifier = oidc.randomPKCECodeVerifier();
    const address = oidc.buildAuthorizationUrl(client, {
      redirect_uri: redirectUri,
      scope: 'openid profile',
      code_challenge: await oidc.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: 'S256',
      state: 'a-state',
    });
    return { client, pkceCodeVerifier, address };
  }

  const callback = () => `${config.urls.approvals}/oidc/callback`;
  const actionOf = (page: string) => /action="([^"]+)"/.exec(page)?.[1] ?? '';

  async function signIn(browser: Browser, name: string) {
    const { client, pkceCodeVerifier, address } = await begin(callback());
    const page = await browser.follow(await browser.go(address.href));
    const arrived = await browser.follow(await browser.go(actionOf(await page.text()), { person: name }));
    const location = new URL(arrived.headers.get('location') ?? '');
    return oidc.authorizationCodeGrant(client, location, { pkceCodeVerifier, expectedState: 'a-state' });
  }

  it('offers approvers and auditors, runs no inline script, and returns the person and the roles', async () => {
    const browser = new Browser(config.urls.issuer);
    const { address } = await begin(callback());
    const page = await browser.follow(await browser.go(address.href));
    expect(page.headers.get('content-security-policy')).toMatch(/default-src 'none'.*form-action 'self' http/);
    const html = await page.text();
    expect([...html.matchAll(/name="person" value="([^"]+)"/g)].map(([, name]) => name)).toEqual([
      'alice',
      'bob',
      'olivia',
    ]);
    expect(html).not.toMatch(/<script(?![^>]*src=)|style=|onclick/);
    expect((await signIn(new Browser(config.urls.issuer), 'alice')).claims()).toMatchObject({
      iss: config.urls.issuer,
      aud: 'countersign-web',
      sub: 'alice',
      name: 'Alice Approver',
      roles: ['approver'],
    });
  });

  it('asks each time, so that one browser can be several people', async () => {
    const browser = new Browser(config.urls.issuer);
    expect((await signIn(browser, 'alice')).claims()?.sub).toBe('alice');
    expect((await signIn(browser, 'bob')).claims()?.sub).toBe('bob');
  });

  it('lets only people on the page sign in', async () => {
    const browser = new Browser(config.urls.issuer);
    const { address } = await begin(callback());
    const action = actionOf(await (await browser.follow(await browser.go(address.href))).text());
    expect((await browser.go(action, { person: 'agent' })).status).toBe(400);
    expect((await browser.go(action, { person: 'mallory' })).status).toBe(400);
  });

  it('shows a page for a sign-in that another browser began', async () => {
    const { address } = await begin(callback());
    const browser = new Browser(config.urls.issuer);
    const action = actionOf(await (await browser.follow(await browser.go(address.href))).text());
    const answer = await new Browser(config.urls.issuer).go(action, { person: 'alice' });
    expect(answer.status).toBe(400);
    expect(await answer.text()).toContain('You cannot sign in this way');
  });

  it('sends no browser to an unregistered address, or without PKCE', async () => {
    const { address } = await begin('https://elsewhere.example/callback');
    const foreign = await new Browser(config.urls.issuer).go(address.href);
    expect(foreign.status).toBe(400);
    expect(foreign.headers.get('location')).toBeNull();
    const { address: plain } = await begin(callback());
    plain.searchParams.delete('code_challenge');
    plain.searchParams.delete('code_challenge_method');
    const refused = await new Browser(config.urls.issuer).go(plain.href);
    expect(new URL(refused.headers.get('location') ?? '').searchParams.get('error')).toBe('invalid_request');
  });
});
