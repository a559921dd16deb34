import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, CDPSession, Page } from 'playwright-core';
import { ApprovalsUnderTest } from '../support/approvals.ts';
import { launchBrowser } from '../support/chromium.ts';
import { isReady } from '../support/press.ts';

const templates = { signed: { stages: [{ name: 'one', approvers: { people: ['alice', 'bob'] }, passkey: true }] } };

describe('passkeys in a browser', () => {
  const service = new ApprovalsUnderTest();
  const problems: string[] = [];
  let browser: Browser;
  let page: Page;
  let device: CDPSession;
  let authenticatorId: string;
  beforeAll(async () => {
    await service.start({ approvals: { templates } });
    browser = await launchBrowser();
    page = await (await browser.newContext()).newPage();
    page.on('pageerror', ({ message }) => problems.push(message));
    page.on('console', (message) => void (message.type() === 'error' && problems.push(message.text())));
    device = await page.context().newCDPSession(page);
    await device.send('WebAuthn.enable');
    ({ authenticatorId } = await device.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        ...{ protocol: 'ctap2', transport: 'internal', automaticPresenceSimulation: true },
        ...{ hasResidentKey: true, hasUserVerification: true, isUserVerified: true },
      },
    }));
  });
  afterAll(async () => {
    await browser.close();
    await service.stop();
  });

  const open = () => service.open({ claims: { template: 'signed' } });
  const atSite = (path: string) => `${service.url.replace('127.0.0.1', 'localhost')}${path}`;
  const approve = async (at: Page = page) => {
    const button = at.getByRole('button', { name: 'Approve' });
    await isReady(button, at.locator('form[data-decides]'));
    await button.click();
  };
  const votes = async (id: string) =>
    (await service.database.pool.query('SELECT * FROM approvals.vote WHERE access_request_id = $1', [id])).rows;

  it('are registered at the address to which they are bound, where a page at another address leads', async () => {
    await page.goto(`${service.url}/passkeys`);
    await page.getByRole('button', { name: /alice/i }).click();
    await page.getByRole('link', { name: 'Add a passkey' }).click();
    await page.getByText('Passkeys do not work at this address').waitFor();
    await page.getByRole('link', { name: atSite('/passkeys/new') }).click();
    await page.getByRole('button', { name: /alice/i }).click();
    await page.waitForURL(atSite('/passkeys/new'));
    await page.getByLabel('Name').fill('Laptop');
    await page.getByRole('button', { name: 'Create the passkey' }).click();
    await page.waitForURL(atSite('/passkeys'));
    expect(await page.getByRole('region', { name: 'Your passkeys' }).innerText()).toMatch(/Laptop, .*registered/);
    await page.getByRole('link', { name: 'Add a passkey' }).click();
    await page.getByLabel('Name').fill('Laptop again');
    await page.getByRole('button', { name: 'Create the passkey' }).click();
    expect(await page.getByRole('alert').innerText()).toContain('This device has a passkey for you already');
    await page.getByRole('link', { name: '← Passkeys' }).click();
    await page.waitForURL(atSite('/passkeys'));
  });

  it('confirm an approval, and the record of the vote has the signature', async () => {
    const request = await open();
    await page.goto(atSite(`/requests/${request.id}`));
    await page.getByLabel('Reason', { exact: true }).fill('I looked at it');
    await approve();
    await page.getByText('You approved this').waitFor();
    expect(await votes(request.id)).toMatchObject([
      { approver_subject: 'alice', reason: 'I looked at it', passkey_assertion: { signature: expect.any(String) } },
    ]);
  });

  it('decide nothing when the person is not verified, and can be used again', async () => {
    const request = await open();
    await page.goto(atSite(`/requests/${request.id}`));
    await device.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false });
    await approve();
    const problem = page.locator('[data-passkey-problem]');
    await problem.waitFor();
    expect(await problem.innerText()).toContain('Nothing was sent');
    expect(await votes(request.id)).toEqual([]);
    await device.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: true });
    await approve();
    await page.getByText('You approved this').waitFor();
  });

  it('are not needed for a denial, and a phone finds the page by a code', async () => {
    const request = await open();
    await page.goto(atSite(`/requests/${request.id}`));
    await page.getByText('Use the passkey on your phone').click();
    const address = atSite(`/requests/${request.id}`);
    await page.getByRole('img', { name: `QR code for ${address}` }).waitFor();
    await page.getByRole('link', { name: address }).click();
    await page.waitForURL(address);
    const deny = page.getByRole('button', { name: 'Deny' });
    await isReady(deny, page.locator('form[data-decides]'));
    await deny.click();
    await page.getByText('You denied this').waitFor();
    expect(problems).toEqual([]);
  });

  it('are asked for where a person has none, and a page without the script says that it needs one', async () => {
    const request = await open();
    const other = await (await browser.newContext({ javaScriptEnabled: false })).newPage();
    await other.goto(atSite(`/requests/${request.id}`));
    await other.getByRole('button', { name: /bob/i }).click();
    await other.getByRole('link', { name: 'Register a passkey' }).click();
    await other.getByRole('link', { name: 'Add a passkey' }).click();
    await other.getByText('A passkey needs JavaScript').waitFor();
    await other.getByLabel('Name').fill('Laptop');
    await other.getByRole('button', { name: 'Create the passkey' }).click();
    await other.getByRole('heading', { name: 'The passkey was not registered' }).waitFor();
    const text = `INSERT INTO approvals.passkey SELECT 'AAAA', issuer, 'bob', name, public_key, 0, transports, device_type, backed_up
      FROM approvals.passkey`;
    await service.database.pool.query(text);
    await other.goto(atSite(`/requests/${request.id}`));
    await other.getByText('An approval needs your passkey, and a passkey needs JavaScript').waitFor();
    await other.getByRole('button', { name: 'Approve' }).click();
    await other.getByRole('alert').getByText('This approval needs a passkey').waitFor();
    expect(await votes(request.id)).toEqual([]);
  });
});
