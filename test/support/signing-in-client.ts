/** The part of a stock MCP host that the official clients leave to it: what it keeps, its callback, and the browser. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser as RealBrowser, Page } from 'playwright-core';
import { Browser } from './browser.ts';
import { formOf } from './hosts.ts';

interface Kept {
  client?: Record<string, unknown>;
  tokens?: { access_token: string; refresh_token?: string | undefined };
  verifier?: string;
  discovery?: unknown;
}

/** What a person does on the page of the issuer. */
export type Act = (page: Page) => Promise<void>;

/** At the embedded issuer, the person with this display name allows the host to act for them. */
export const allowAs =
  (person: string): Act =>
  (page) =>
    page.getByRole('button', { name: `Allow as ${person}` }).click();

/** Opens an address and does what the person does there; `answered` settles once the answer has reached the host. */
export type Visit = (address: string, answered: Promise<unknown>) => Promise<unknown>;

/** The person in a real browser. */
export const inBrowser =
  (browser: RealBrowser, act: Act): Visit =>
  async (address, answered) => {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(address);
    await act(page);
    await answered;
    await context.close();
  };

/** At the embedded issuer, the person of this name allows the host: this process sends the form of the page. */
export const allowing =
  (issuer: string, person: string) =>
  async (address: string): Promise<Response> => {
    const browser = new Browser(issuer);
    const page = await browser.follow(await browser.go(address));
    const { action, agreement } = formOf(await page.text());
    const pressed = await browser.follow(await browser.go(action, { agreement, person }));
    return fetch(pressed.headers.get('location') ?? '');
  };

/** A host that signs its person in through a browser, as the providers of both official clients expect it. */
export class SigningInHost {
  readonly kept: Kept = {};
  /** How often the person was asked. */
  pages = 0;
  readonly #visit: Visit;
  #server!: Server;
  #answer: Promise<URLSearchParams> | undefined;
  #arrive: (answer: URLSearchParams) => void = () => undefined;

  constructor(visit: Visit) {
    this.#visit = visit;
  }

  async start(): Promise<this> {
    this.#server = createServer((request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? '/', 'http://host.example');
      response.end('You can close this window.');
      if (pathname === '/callback') this.#arrive(searchParams);
    });
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  stop(): Promise<void> {
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  get redirectUrl(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/callback`;
  }

  get clientMetadata() {
    return {
      client_name: 'A stock host',
      redirect_uris: [this.redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    };
  }

  /** The answer of the issuer to the last sign-in. */
  answer(): Promise<URLSearchParams> {
    if (this.#answer === undefined) throw new Error('no sign-in has begun');
    return this.#answer;
  }

  state = () => 'a-state';
  clientInformation = () => this.kept.client as never;
  saveClientInformation = (client: object) => void (this.kept.client = client as Record<string, unknown>);
  tokens = () => this.kept.tokens as never;
  saveTokens = (tokens: Kept['tokens'] & object) => void (this.kept.tokens = tokens);
  saveDiscoveryState = (found: unknown) => void (this.kept.discovery = found);
  discoveryState = () => this.kept.discovery as never;
  saveCodeVerifier = (verifier: string) => void (this.kept.verifier = verifier);
  codeVerifier = () => this.kept.verifier ?? '';

  /** Opens the page and presses it, as the person does. */
  redirectToAuthorization = async (address: URL): Promise<void> => {
    this.pages += 1;
    this.#answer = new Promise((resolve) => (this.#arrive = resolve));
    await this.#visit(address.href, this.#answer);
    await this.#answer;
  };
}
