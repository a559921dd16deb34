import { chmodSync, copyFileSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { patiently } from '../support/wait-for.ts';

const PERSON = 'Bob Approver';
/** How long a client may take to answer the browser, in milliseconds. */
const BACK_MS = 30_000;
/** How long the browser is given before the person looks at the page, in milliseconds. */
const LOOK_MS = 2_000;

/** A person with a browser: opens each address that a client wants opened, and lets the client act for them. */
export class Person {
  /** How often the person was asked. */
  asked = 0;
  /** Why the last sign-in failed. */
  fault: string | undefined;
  /** Gets the address to which the browser came back, for clients that do not serve it themselves. */
  onReturn: (address: string) => void = () => undefined;
  readonly #browser: Browser;
  readonly #server: Server;

  constructor(browser: Browser) {
    this.#browser = browser;
    this.#server = createServer((request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? '/', this.address);
      if (pathname === '/open') void this.open(searchParams.get('url') ?? '');
      if (pathname === '/callback') this.onReturn(new URL(request.url ?? '/', this.address).href);
      response.end('You can close this window.');
    });
  }

  async start(): Promise<this> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return this;
  }

  get address(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The redirect address for clients that do not serve one. */
  get redirect(): string {
    return `${this.address}/callback`;
  }

  /** Opens the page of the issuer in a browser without an earlier sign-in, and presses the button. */
  async open(url: string): Promise<void> {
    this.asked += 1;
    const context = await this.#browser.newContext();
    const page = await context.newPage();
    try {
      await page.goto(url);
      await page.getByRole('button', { name: `Allow as ${PERSON}` }).click();
      await patiently(() => comesBack(page), { timeoutMs: BACK_MS });
    } catch (error) {
      this.fault = `${String(error)}\non ${page.url()}: ${await page.innerText('body').catch(String)}`;
    } finally {
      await context.close();
    }
  }

  /** Writes a program into the folder, under the names that clients use for a browser. It hands its address to the person. */
  writeBrowser(folder: string): string {
    const program = join(folder, 'browser');
    const text = `#!${process.execPath}
fetch(${JSON.stringify(`${this.address}/open?url=`)} + encodeURIComponent(process.argv.at(-1)));
`;
    writeFileSync(program, text);
    chmodSync(program, 0o755);
    copyFileSync(program, join(folder, 'xdg-open'));
    return program;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

/**
 * The browser comes back with the code: the client answers it, or the server above does. Some clients open the browser before they listen
 * for it. A person is slower than they are, and would load the page again.
 */
async function comesBack(page: Page): Promise<true> {
  if (page.url().startsWith('chrome-error:')) await page.reload();
  await page.waitForURL(/[?&]code=/, { waitUntil: 'commit', timeout: LOOK_MS });
  return true;
}
