/** A host that only launches programs, on the machine of a person: it launches `countersign stdio`. */
import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type { BrowserContext, Page } from 'playwright-core';
import { type SignedIn, TokenFile } from '../../apps/cli/stdio/token-file.ts';
import type { Act } from '../support/signing-in-client.ts';
import { StdioProgram } from '../support/stdio-program.ts';
import { logIn, type PersonName, type Scene } from './scene.ts';

/** The client of docs/issuers/keycloak.md for `countersign stdio`. */
export const STDIO_CLIENT = 'countersign-stdio';

/** For a request that waits for a person. */
export const TIMEOUT_MS = 240_000;

/** Variables that let `countersign stdio` find the product of this run. */
export const variablesOf = ({ stack }: Scene) => ({
  COUNTERSIGN_CONFIG: join(stack.folder, 'countersign.yaml'),
  COUNTERSIGN_STATE: stack.stateDir,
});

export class LaunchingHost {
  readonly program: StdioProgram;
  readonly #file: TokenFile;
  /** Of the person. */
  readonly #browser: BrowserContext;
  readonly #clients: Client[] = [];
  #windows = 0;

  private constructor(scene: Scene, browser: BrowserContext) {
    this.program = new StdioProgram({ ...variablesOf(scene), COUNTERSIGN_CLIENT_ID: STDIO_CLIENT });
    this.#file = new TokenFile(scene.stack.config.urls.mcp, this.program.server().env, STDIO_CLIENT);
    this.#browser = browser;
  }

  static async on(scene: Scene): Promise<LaunchingHost> {
    return new LaunchingHost(scene, await scene.browser.newContext());
  }

  /** Launches the program, and connects to it. Without a sign-in, it waits for a person. */
  async launch(): Promise<Client> {
    const client = new Client({ name: 'a-launching-host', version: '0' });
    this.#clients.push(client);
    await client.connect(new StdioClientTransport(this.program.server()), { timeout: TIMEOUT_MS });
    return client;
  }

  /** The sign-in that the program keeps. No other user can read its file. */
  get kept(): SignedIn {
    assert.equal((statSync(this.#file.path).mode & 0o777).toString(8), '600');
    const kept = this.#file.read();
    assert.ok(kept);
    return kept;
  }

  get isSignedIn(): boolean {
    return this.#file.read() !== undefined;
  }

  /** The person, in the next window that the program opens. */
  inWindow(act: Act, last?: string): Promise<string> {
    this.#windows += 1;
    return this.program.inWindow(this.#browser, act, { which: this.#windows, ...(last !== undefined && { last }) });
  }

  /** Whether the program has opened no further window. */
  get hasOpenedNoOther(): boolean {
    return this.program.opened.length === this.#windows;
  }

  async stop(): Promise<void> {
    for (const client of this.#clients) await client.close();
    await this.#browser.close();
    // The sign-in of a failed step waits on, in a process that is no host's.
    if (this.#file.isSigningIn()) process.kill(Number(readFileSync(`${this.#file.path}.sign-in`, 'utf8')));
  }
}

/** The person signs in at Keycloak, and consents, each time: a sign-in of a program leaves no session in the browser. */
export const signInAs =
  (person: PersonName): Act =>
  async (page) => {
    await logIn(page, person);
    await consent(page);
  };

/** Keycloak asks for it, because any program of a machine can use a public client. */
async function consent(page: Page): Promise<void> {
  await page.locator('#kc-oauth').waitFor();
  assert.match(await page.locator('#kc-oauth').innerText(), /Call tools through Countersign/);
  await page.locator('#kc-login').click();
}
