/** Programs that sign people in at the embedded issuer, step by step, so that a test can change each step. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { lookup } from 'node:dns';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as oidc from 'openid-client';
import { pino } from 'pino';
import type { Config } from '../../apps/shared/config/config.ts';
import { loadDevelopmentSecrets, type DevelopmentSecrets } from '../../apps/shared/config/development-secrets.ts';
import { startIdentityProvider } from '../../apps/shared/embedded/identity-provider.ts';
import type { Running } from '../../apps/shared/lifecycle.ts';
import { Browser } from './browser.ts';
import { testConfig } from './config.ts';
import { patiently } from './wait-for.ts';

type Json = Record<string, unknown>;
export type Params = Record<string, string | undefined>;

export const LOOPBACK_CALLBACK = 'http://127.0.0.1/cb';

const EMPTY = '{"clients":{},"grants":{},"refreshTokens":{},"documents":{}}';

/** A host that has registered, or has a document. */
export interface Host {
  readonly id: string;
  readonly redirectUri: string;
}

interface Options {
  readonly settings?: Record<string, Record<string, unknown>>;
  readonly testing?: { readonly ca?: string; readonly lookup?: typeof lookup };
}

/** The embedded issuer in this process, with what a host does there. */
export async function startHostIssuer({ settings, testing }: Options = {}) {
  const stateDir = mkdtempSync(join(tmpdir(), 'hosts-'));
  const secrets = await loadDevelopmentSecrets(stateDir);
  const config = await testConfig({ baseDir: stateDir, stateDir }, settings);
  const lines: Json[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line) as Json) });
  const start = () => startIdentityProvider(config, secrets, log, testing);
  const issuer = new HostIssuer({ config, secrets, lines, start, running: await start() });
  return Object.assign(issuer, {
    async stop() {
      await issuer.running.stop();
      rmSync(stateDir, { recursive: true });
    },
  });
}

export interface Parts {
  readonly config: Config;
  readonly secrets: DevelopmentSecrets;
  readonly lines: Json[];
  readonly start: () => Promise<Running>;
  running: Running;
}

export class HostIssuer {
  readonly config: Config;
  readonly secrets: DevelopmentSecrets;
  /** What the issuer has logged. */
  readonly lines: Json[];
  readonly #start: () => Promise<Running>;
  running: Running;

  constructor({ config, secrets, lines, start, running }: Parts) {
    Object.assign(this, { config, secrets, lines });
    this.config = config;
    this.secrets = secrets;
    this.lines = lines;
    this.#start = start;
    this.running = running;
  }

  get url(): string {
    return this.config.urls.issuer;
  }

  /** The file of signed-in hosts. */
  get kept() {
    const file = join(this.config.stateDir, 'identity.json');
    const text = existsSync(file) ? readFileSync(file, 'utf8') : EMPTY;
    return JSON.parse(text) as { clients: Json; grants: Json; refreshTokens: Json; documents: Json };
  }

  /** Stops the issuer and starts it again on the same folder. */
  async restart(): Promise<void> {
    await this.running.stop();
    this.running = await this.#start();
    // A kept connection may still look open.
    await patiently(() => fetch(`${this.url}/healthz`));
  }

  async registration(metadata: unknown, headers: Record<string, string> = {}): Promise<Response> {
    return fetch(`${this.url}/reg`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(metadata),
    });
  }

  async register(redirectUri = LOOPBACK_CALLBACK, more: Json = {}): Promise<Host> {
    const metadata = {
      client_name: 'A host',
      redirect_uris: [redirectUri],
      token_endpoint_auth_method: 'none',
      ...more,
    };
    const answer = await this.registration(metadata);
    const body = (await answer.json()) as Json;
    if (answer.status !== 201) throw new Error(JSON.stringify(body));
    return { id: String(body['client_id']), redirectUri };
  }

  /** Parameters of a sign-in as a host sends them, and the verifier that belongs to them. `undefined` leaves one out. */
  async asks(host: Host, changes: Params = {}) {
    const verifier = oidc.randomPKCECodeVerifier();
    const params: Params = {
      client_id: host.id,
      redirect_uri: host.redirectUri,
      response_type: 'code',
      scope: 'mcp',
      state: 'a-state',
      resource: this.config.urls.mcp,
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      ...changes,
    };
    const sent = Object.entries(params).filter((entry): entry is [string, string] => entry[1] !== undefined);
    return { verifier, address: `${this.url}/auth?${new URLSearchParams(sent).toString()}` };
  }

  /** Opens the sign-in in a browser, as far as the page. */
  async open(address: string, browser = new Browser(this.url)) {
    const answer = await browser.follow(await browser.go(address));
    const html = await answer.text();
    return { browser, answer, html, ...formOf(html) };
  }

  /** A person's press on the page; answers where the issuer sends the browser. */
  async press(
    page: { browser: Browser; action: string; agreement: string },
    form: Record<string, string>,
  ): Promise<URL> {
    const answer = await page.browser.follow(
      await page.browser.go(page.action, { agreement: page.agreement, ...form }),
    );
    return new URL(answer.headers.get('location') ?? 'about:blank');
  }

  /** The whole sign-in as far as the code. */
  async code(host: Host, { person = 'bob', changes = {} } = {}) {
    const { verifier, address } = await this.asks(host, changes);
    const arrived = await this.press(await this.open(address), { person });
    return { verifier, arrived, code: arrived.searchParams.get('code') ?? '' };
  }

  /** A request to the token endpoint. */
  async token(form: Params): Promise<{ status: number; body: Json }> {
    const sent = Object.entries(form).filter((entry): entry is [string, string] => entry[1] !== undefined);
    const answer = await fetch(`${this.url}/token`, { method: 'POST', body: new URLSearchParams(sent) });
    return { status: answer.status, body: (await answer.json()) as Json };
  }

  redeem(host: Host, { code, verifier }: { code: string; verifier: string }, changes: Params = {}) {
    return this.token({
      grant_type: 'authorization_code',
      client_id: host.id,
      redirect_uri: host.redirectUri,
      code,
      code_verifier: verifier,
      ...changes,
    });
  }

  refresh(host: Host, refreshToken: unknown, changes: Params = {}) {
    const own = { grant_type: 'refresh_token', client_id: host.id, refresh_token: String(refreshToken) };
    return this.token({ ...own, ...changes });
  }

  /** Signs in; answers the tokens. */
  async signIn(host: Host, person = 'bob'): Promise<Json> {
    const { status, body } = await this.redeem(host, await this.code(host, { person }));
    if (status !== 200) throw new Error(JSON.stringify(body));
    return body;
  }
}

/** The form of the page, without the script. */
export function formOf(html: string) {
  return {
    action: /action="([^"]+)"/.exec(html)?.[1] ?? '',
    agreement: /name="agreement" value="([^"]+)"/.exec(html)?.[1] ?? '',
  };
}
