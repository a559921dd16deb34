/** A gateway's metadata before the embedded issuer, and a person with a browser who signs in to `countersign stdio` there. */
import express from 'express';
import { signIn, type SignInDeps } from '../../apps/cli/stdio/sign-in.ts';
import type { TokenFile } from '../../apps/cli/stdio/token-file.ts';
import { resourceRouter } from '../../apps/gateway/mcp/resource.ts';
import { startHostIssuer } from './hosts.ts';
import { serve } from './serve.ts';
import { ownTokenFile } from './stdio-host.ts';
import { systemTime } from './time.ts';

type Issuer = Awaited<ReturnType<typeof startHostIssuer>>;
export type Changes = Partial<Omit<SignInDeps, 'file'>>;

/** What the person does when the browser opens this address. */
export type Person = (address: string) => Promise<unknown>;

export class SignInDesk {
  issuer!: Issuer;
  #gateway!: Awaited<ReturnType<typeof serve>>;
  /** Names an issuer in place of the embedded one. */
  namedIssuer: string | undefined;
  /** Which tokens the endpoint accepts. */
  accepts: (token: string) => boolean = () => true;
  /** Addresses to which this program has sent requests. */
  readonly asked: string[] = [];
  /** What it said. */
  readonly said: string[] = [];

  async start(settings: Parameters<typeof startHostIssuer>[0] = {}): Promise<this> {
    this.issuer = await startHostIssuer(settings);
    const app = express();
    app.use((request, response, next) => {
      const { config } = this.issuer;
      const urls = { ...config.urls, issuer: this.namedIssuer ?? config.urls.issuer };
      resourceRouter({ ...config, urls })(request, response, next);
    });
    app.post('/mcp', express.json(), (request, response) => {
      const token = /^Bearer (.*)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
      const { id } = request.body as { id?: unknown };
      const metadata = `resource_metadata="${this.url.replace('/mcp', '/.well-known/oauth-protected-resource/mcp')}"`;
      if (token === '') response.status(401).set('WWW-Authenticate', `Bearer ${metadata}, scope="mcp"`).json({});
      else if (this.accepts(token)) response.json({ jsonrpc: '2.0', id, result: {} });
      else response.status(401).set('WWW-Authenticate', 'Bearer error="invalid_token"').json({});
    });
    this.#gateway = await serve(app, this.issuer.config.gateway.port);
    return this;
  }

  get url(): string {
    return this.issuer.config.urls.mcp;
  }

  /** What signs a person in here again. */
  get command(): string {
    return `npx countersign stdio --sign-in --url ${this.url}`;
  }

  newFile(): TokenFile {
    return ownTokenFile(this.url);
  }

  /** The requests of this program, noted. */
  readonly fetch: typeof fetch = (input, init) => {
    this.asked.push(String(input instanceof Request ? input.url : input));
    return fetch(input, init);
  };

  /** Requests to the token endpoint. */
  get redeemed(): number {
    return this.asked.filter((address) => new URL(address).pathname === '/token').length;
  }

  async signIn(file: TokenFile, person: Person = this.press(), changes: Changes = {}): Promise<void> {
    let browsing: Promise<unknown> = Promise.resolve();
    const open = async (address: string) => {
      browsing = person(address).catch((error: unknown) => this.said.push(String(error)));
    };
    const say = (line: string) => void this.said.push(line);
    try {
      const { url, command, fetch: asking } = this;
      await signIn({ url, file, open, say, command, fetch: asking, ...systemTime, ...changes });
    } finally {
      await browsing;
    }
  }

  /** Follows the address that the browser got to the page of the issuer. */
  async arriveAt(address: string) {
    const location = (await fetch(address, { redirect: 'manual' })).headers.get('location') ?? '';
    return { location, page: await this.issuer.open(location) };
  }

  /** The address to which the issuer sends the browser, after the press of a person. */
  async answerFor(address: string, form: Record<string, string> = { person: 'bob' }): Promise<URL> {
    return this.issuer.press((await this.arriveAt(address)).page, form);
  }

  /** A person who chooses a name, or refuses. */
  press(form?: Record<string, string>): (address: string) => Promise<Response> {
    return async (address) => fetch(await this.answerFor(address, form));
  }

  async stop(): Promise<void> {
    await this.#gateway?.close();
    await this.issuer?.stop();
  }
}
