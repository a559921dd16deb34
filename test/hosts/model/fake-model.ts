import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import type { AddressInfo } from 'node:net';
import { ANTHROPIC } from './anthropic.ts';
import type { Dialect } from './dialect.ts';
import { GEMINI } from './gemini.ts';
import { OPENAI_CHAT } from './openai-chat.ts';
import { OPENAI_RESPONSES } from './openai-responses.ts';
import { replyTo } from './turn.ts';

const DIALECTS: readonly Dialect[] = [ANTHROPIC, OPENAI_RESPONSES, OPENAI_CHAT, GEMINI];

/** Hosts count tokens before they ask. */
const COUNTS: readonly { readonly path: RegExp; readonly answer: object }[] = [
  { path: /^\/v1\/messages\/count_tokens$/, answer: { input_tokens: 1 } },
  { path: /^\/v1(?:beta)?\/models\/[^/]+:countTokens$/, answer: { totalTokens: 1 } },
];

/**
 * The model of a host, in the dialects of Anthropic, OpenAI and Gemini. It does what the words of the person ask, and nothing else: see
 * `replyTo`. The conversation is in each request, so it keeps nothing.
 */
export class FakeModel {
  /** Requests that it did not understand, such as `GET /v1/models`. They got 404. */
  readonly unknown: string[] = [];
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch((error: unknown) => send(response, 500, { error: String(error) }));
    });
  }

  async start(): Promise<this> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '/' } = request;
    const { pathname } = new URL(url, this.url);
    const asked = method === 'POST' ? pathname : '';
    const count = COUNTS.find(({ path }) => path.test(asked));
    const dialect = DIALECTS.find(({ path }) => path.test(asked));
    if (count !== undefined) return send(response, 200, count.answer);
    if (dialect === undefined) {
      this.unknown.push(`${method} ${pathname}`);
      return send(response, 404, { error: { type: 'not_found_error', message: `there is no ${method} ${pathname}` } });
    }
    const body = (await json(request)) as Record<string, unknown>;
    const reply = replyTo(dialect.read(body));
    if (!dialect.streams(pathname, body)) return send(response, 200, dialect.whole(reply, body));
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const { event, data } of dialect.events(reply, body)) {
      const name = event === undefined ? '' : `event: ${event}\n`;
      response.write(`${name}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`);
    }
    response.end();
  }
}

function send(response: ServerResponse, status: number, body: object): void {
  if (response.headersSent) return void response.destroy();
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
