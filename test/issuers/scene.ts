import type { Browser, BrowserContext, Page } from 'playwright-core';
import { loadDevelopmentSecrets } from '../../apps/shared/config/development-secrets.ts';
import { freePort } from '../../apps/shared/embedded/process-tools.ts';
import { launchBrowser } from '../support/chromium.ts';
import { onFreePorts } from '../support/config.ts';
import { Stack } from '../support/stack.ts';
import { Keycloak } from './keycloak.ts';

export const PEOPLE = {
  alice: { name: 'Alice', roles: ['approver'] },
  bob: { name: 'Bob', roles: ['approver', 'agent'] },
  carol: { name: 'Carol', roles: ['approver', 'auditor'] },
  olivia: { name: 'Olivia', roles: ['auditor'] },
} as const;
export type PersonName = keyof typeof PEOPLE;

/** The settings of docs/issuers/keycloak.md, with a short time until the issuer is asked again. */
const settingsFor = (issuer: string) => ({
  identity: { issuer, rolesClaim: 'realm_access.roles', recheckSeconds: 1 },
  audit: { clientId: 'countersign-audit' },
});

/** The product, the issuer that it uses, and a browser. */
export interface Scene {
  readonly keycloak: Keycloak;
  readonly stack: Stack;
  readonly browser: Browser;
  /** Keycloak's ids of the people. */
  readonly ids: Readonly<Record<PersonName, string>>;
  /** An access token of the client `agent`. */
  readonly agentToken: () => Promise<string>;
}

export interface Running extends Scene {
  readonly stop: () => Promise<void>;
}

/** Starts all of it. What has started already is stopped if another part cannot start. */
export async function openScene(distribution: string): Promise<Running> {
  const keycloak = new Keycloak(await freePort());
  const stack = new Stack();
  let browser: Browser | undefined;
  const stop = async () => {
    await browser?.close();
    await stack.stop();
    await keycloak.stop();
  };
  try {
    const ports = await onFreePorts();
    const { secrets } = await loadDevelopmentSecrets(stack.stateDir);
    const starting = keycloak.start(distribution, {
      COUNTERSIGN_GATEWAY: `http://127.0.0.1:${ports.gateway.port}`,
      COUNTERSIGN_INBOX: `http://127.0.0.1:${ports.approvals.port}`,
      COUNTERSIGN_AUDIT: `http://127.0.0.1:${ports.audit.port}`,
      COUNTERSIGN_OIDC_CLIENT_SECRET: secrets.oidcClientSecret,
    });
    const own = settingsFor(keycloak.issuer);
    const started = await Promise.allSettled([
      starting,
      stack.start({
        parts: 'together',
        config: { ...ports, audit: { ...ports.audit, ...own.audit }, identity: { ...ports.identity, ...own.identity } },
        rules: [
          { allow: { server: 'files', tool: 'read_text_file' } },
          { approve: { server: 'files', tool: 'write_file' } },
        ],
      }),
    ]);
    // All have to be over before a failure stops what started.
    const failure = started.find(({ status }) => status === 'rejected');
    if (failure?.status === 'rejected') throw failure.reason;
    browser = await launchBrowser();
    const ids = await addPeople(keycloak);
    const secret = await keycloak.secretOf('agent');
    return { keycloak, stack, browser, ids, agentToken: () => keycloak.tokenOf('agent', secret), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function addPeople(keycloak: Keycloak): Promise<Record<PersonName, string>> {
  const ids: Record<string, string> = {};
  for (const [username, { name, roles }] of Object.entries(PEOPLE))
    ids[username] = await keycloak.addPerson(username, name, roles);
  return ids;
}

/** Signs in on Keycloak's page, which has to be open. */
export async function logIn(page: Page, person: PersonName): Promise<void> {
  await page.locator('#username').fill(person);
  await page.locator('#password').fill(person);
  await page.locator('#kc-login').click();
}

/** A browser without an earlier sign-in, in which this person has opened the page. */
export async function openAs({ browser }: Scene, person: PersonName, url: string): Promise<Page> {
  const context: BrowserContext = await browser.newContext();
  const page = await context.newPage();
  await page.goto(url);
  await logIn(page, person);
  await page.waitForURL(`${new URL(url).origin}/**`);
  return page;
}
