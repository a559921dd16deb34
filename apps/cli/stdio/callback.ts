import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { randomText, sha256 } from '../../shared/crypto.ts';
import { listen } from '../../shared/http/listen.ts';
import { errorCode } from '../../shared/lifecycle.ts';
import type { Timing } from '../../shared/limits.ts';
import type * as page from '../../shared/pages/lone-page.tsx';
import { CliError } from '../context.ts';

const HOST = '127.0.0.1';
const START_PATH = '/start';
const CALLBACK_PATH = '/callback';
const SECRET_BYTES = 32;
const HEADERS = { 'x-content-type-options': 'nosniff', 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' };

const BEGIN_AGAIN = 'Begin again in the program that started it.';
/** What the person reads at the end: the status, what happened, and the next step. Nothing of a request is repeated. */
const PAGES = {
  signedIn: [200, 'You are signed in', 'You can close this window, and go back to your program.'],
  refused: [
    400,
    'The sign-in was refused',
    'You can close this window. To sign in after all, begin again in your program.',
  ],
  failed: [400, 'The sign-in has failed', 'The program that began it says why.'],
  foreign: [400, 'This answer is not of this sign-in', 'Go back to the page of the sign-in.'],
  unknown: [400, 'This address is not of this sign-in', BEGIN_AGAIN],
  missing: [404, 'There is no such page', 'Go back to the page of the sign-in.'],
  readOnly: [405, 'This page can only be read', 'Go back to the page of the sign-in.'],
  ended: [410, 'This sign-in has ended', `You can close this window. ${BEGIN_AGAIN}`],
  openedTwice: [410, 'This sign-in has already been opened', `For safety it was ended. ${BEGIN_AGAIN}`],
} as const satisfies Record<string, readonly [status: number, title: string, nextStep: string]>;

type Reply = (page: keyof typeof PAGES) => void;

type Draw = typeof page.lonePage;

/** The answer of the issuer, and the browser that brought it and waits for a page. */
export interface Answer {
  readonly parameters: URLSearchParams;
  /** Shows the person the outcome. Call it once. */
  readonly reply: Reply;
}

/**
 * The server of one sign-in on this machine, to which the issuer sends the browser back. It listens before the browser opens, so that no
 * other program can take its port. @see RFC 8252, section 7.3
 */
export class Callback {
  /** Known to the issuer, and in no list of processes: only this process and the browser know it. */
  readonly state = randomText(SECRET_BYTES);
  readonly #once = randomText(SECRET_BYTES);
  readonly #server: Awaited<ReturnType<typeof listen>>;
  readonly #draw: Draw;
  #location: string | undefined;
  #isOpened = false;
  #settle: { resolve: (answer: Answer) => void; reject: (error: Error) => void } | undefined;

  private constructor(server: (serve: Callback['serve']) => Awaited<ReturnType<typeof listen>>, draw: Draw) {
    this.#draw = draw;
    this.#server = server((request, response) => this.serve(request, response));
  }

  /** @param port The port to use. Another one is taken if it is not free, unless it is `demanded`. 0 takes any free one. */
  static async listen(timing: Timing, port: number, demanded = false): Promise<Callback> {
    // Loaded for a sign-in alone: hosts start this program again and again.
    const { lonePage } = await import('../../shared/pages/lone-page.tsx');
    let serve: Callback['serve'] = () => undefined;
    const listening = { ...timing, host: HOST, urls: [`http://${HOST}`] };
    const app = (request: IncomingMessage, response: ServerResponse) => serve(request, response);
    const server = await listen(app, { ...listening, port }).catch(async (error: unknown) => {
      if (errorCode(error) !== 'EADDRINUSE') throw error;
      if (demanded)
        throw new CliError(`Port ${port} is in use. Stop the program that listens there, or give another --port.`);
      return listen(app, { ...listening, port: 0 });
    });
    return new Callback((own) => {
      serve = own;
      return server;
    }, lonePage);
  }

  get redirectUrl(): string {
    return `${this.#server.url}${CALLBACK_PATH}`;
  }

  /**
   * The address to open in a browser for a sign-in at `location`. It works once. Other users may see it in the list of processes, so it
   * tells nothing of the sign-in itself: with the state, another user could end it in their own name.
   */
  startOf(location: URL): string {
    this.#location = location.href;
    return `${this.#server.url}${START_PATH}?once=${this.#once}`;
  }

  /** The answer that carries the state of this sign-in. Rejects if the address was opened twice. */
  answer(): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
  }

  /** Takes the address to which the issuer sent a browser that cannot reach this machine. Throws if it is not of this sign-in. */
  paste(address: string): Answer {
    const parameters = URL.canParse(address.trim()) ? new URL(address.trim()).searchParams : new URLSearchParams();
    if (this.#isOurs(parameters)) return { parameters, reply: () => undefined };
    throw new CliError(
      'This is not the address of this sign-in. Sign in again, and paste the whole address of the last page.',
    );
  }

  close(): Promise<void> {
    return this.#server.close();
  }

  serve(request: IncomingMessage, response: ServerResponse): void {
    const reply: Reply = (page) => {
      const [status, title, nextStep] = PAGES[page];
      const { html, policy } = this.#draw(title, nextStep);
      const type = 'text/html; charset=utf-8';
      const headers = { ...HEADERS, 'content-type': type, 'content-security-policy': policy, connection: 'close' };
      response.writeHead(status, headers).end(html);
    };
    // Any program of this machine can send any address, also one that no URL can be made of.
    const target = `${this.#server.url}${request.url ?? '/'}`;
    if (!URL.canParse(target)) return reply('missing');
    const { pathname, searchParams } = new URL(target);
    if (request.method !== 'GET') return reply('readOnly');
    if (pathname === START_PATH) return this.#start(searchParams, response, reply);
    if (pathname !== CALLBACK_PATH) return reply('missing');
    // An answer without the state is of another sign-in, or forged. This one goes on.
    if (!this.#isOurs(searchParams)) return reply('foreign');
    const settle = this.#settle;
    if (settle === undefined) return reply('ended');
    this.#settle = undefined;
    settle.resolve({ parameters: searchParams, reply });
  }

  #start(parameters: URLSearchParams, response: ServerResponse, reply: Answer['reply']): void {
    if (this.#location === undefined || !isSame(parameters.get('once'), this.#once)) {
      return reply('unknown');
    }
    if (this.#isOpened) {
      // One of the two is not the person's browser.
      this.#settle?.reject(new CliError('The sign-in was opened twice, so it was ended. Sign in again.'));
      this.#settle = undefined;
      return reply('openedTwice');
    }
    this.#isOpened = true;
    response.writeHead(303, { ...HEADERS, location: this.#location, connection: 'close' }).end();
  }

  #isOurs(parameters: URLSearchParams): boolean {
    return parameters.getAll('state').length === 1 && isSame(parameters.get('state'), this.state);
  }
}

/** Compares secrets in a time that tells nothing about them. */
const isSame = (one: string | null, other: string): boolean =>
  timingSafeEqual(Buffer.from(sha256(one ?? '')), Buffer.from(sha256(other)));
