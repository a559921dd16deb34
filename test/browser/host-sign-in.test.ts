import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { launchBrowser } from '../support/chromium.ts';
import { startHostIssuer } from '../support/hosts.ts';
import { waitFor } from '../support/wait-for.ts';

let browser: Browser;
let issuer: Awaited<ReturnType<typeof startHostIssuer>>;
let host: Server;
let arrived: URL[] = [];
beforeAll(async () => {
  issuer = await startHostIssuer({ settings: { tools: { files__write_file: { scopes: ['files:write'] } } } });
  browser = await launchBrowser();
  host = createServer((request, response) => {
    arrived.push(new URL(request.url ?? '/', 'http://host.example'));
    response.end('Signed in.');
  });
  await new Promise<void>((resolve) => host.listen(0, '::', resolve));
});
afterAll(async () => {
  await browser?.close();
  await issuer?.stop();
  await new Promise((resolve) => host.close(resolve));
});
afterEach(() => {
  arrived = [];
});

const port = () => (host.address() as AddressInfo).port;

/** With and without a script. */
const pages = new Map<boolean, Page>();
/** Opens the page for a host with this address for the answer. */
async function openPage(redirectUri: string, javaScriptEnabled = true): Promise<{ page: Page; problems: string[] }> {
  const page = pages.get(javaScriptEnabled) ?? (await (await browser.newContext({ javaScriptEnabled })).newPage());
  pages.set(javaScriptEnabled, page);
  await page.context().clearCookies();
  const problems: string[] = [];
  page.removeAllListeners('console');
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text());
  });
  const registered = await issuer.register(redirectUri.replace(`:${port()}`, ''), { client_name: 'Cursor' });
  const { address } = await issuer.asks({ ...registered, redirectUri }, { scope: 'openid mcp files:write' });
  await page.goto(address);
  return { page, problems };
}

describe('the consent to a host, in a browser', () => {
  it.each([
    ['127.0.0.1', true],
    ['localhost', true],
    ['[::1]', true],
    ['127.0.0.1', false],
  ])('brings the answer to a program at %s (script: %s)', async (name, hasScript) => {
    const { page, problems } = await openPage(`http://${name}:${port()}/cb`, hasScript);
    expect(await page.title()).toContain('Let a program act for you?');
    await page.getByRole('button', { name: 'Allow as Bob Approver' }).click();
    await waitFor(() => arrived.some(({ pathname }) => pathname === '/cb'));
    const answer = arrived.find(({ pathname }) => pathname === '/cb');
    expect(Object.fromEntries(answer?.searchParams ?? [])).toMatchObject({ code: expect.any(String), iss: issuer.url });
    expect(problems).toEqual([]);
  });

  it('brings a refusal to the program', async () => {
    const { page } = await openPage(`http://127.0.0.1:${port()}/cb`);
    await page.getByRole('button', { name: 'Refuse' }).click();
    await waitFor(() => arrived.some(({ searchParams }) => searchParams.get('error') === 'access_denied'));
  });

  it('leads to a site that the host goes back to', async () => {
    const { page, problems } = await openPage('https://www.cursor.invalid/cb');
    // No such site exists: the attempt shows that the page may lead there.
    const attempt = page.waitForEvent('requestfailed', (request) => request.url().includes('/cb?code='));
    await page.getByRole('button', { name: 'Allow as Bob Approver' }).click();
    expect(new URL((await attempt).url()).origin).toBe('https://www.cursor.invalid');
    expect(problems.filter((text) => text.includes('form-action'))).toEqual([]);
    // The page is on its way to the browser's own message.
    await page.context().close();
    pages.delete(true);
  });

  it('leads nowhere else', async () => {
    const { page, problems } = await openPage(`http://127.0.0.1:${port()}/cb`);
    await page.evaluate(() => {
      const form = document.querySelector('form');
      form?.setAttribute('action', 'https://evil.example/');
      form?.querySelector('button')?.click();
    });
    await waitFor(() => problems.some((text) => text.includes('form-action')));
  });
});
