/** A server on the official package of earlier revisions, with sessions and streams that can be taken up again. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { type EventStore, StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import * as z from 'zod';
import { serve } from './serve.ts';

/** One request as it came. */
export interface Came {
  readonly method: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** All events of all streams, in their order. The package's example of a store finds no events of the stream that GET opens. */
class Events implements EventStore {
  readonly #events: { readonly stream: string; readonly message: JSONRPCMessage }[] = [];

  storeEvent = async (stream: string, message: JSONRPCMessage) => `e${this.#events.push({ stream, message }) - 1}`;
  getStreamIdForEventId = async (id: string) => this.#events[Number(id.slice(1))]?.stream;

  async replayEventsAfter(id: string, { send }: Parameters<EventStore['replayEventsAfter']>[1]): Promise<string> {
    const at = Number(id.slice(1));
    const stream = this.#events[at]?.stream ?? '';
    for (const [index, event] of this.#events.entries()) {
      if (index > at && event.stream === stream) await send(`e${index}`, event.message);
    }
    return stream;
  }
}

export class SessionServer {
  readonly came: Came[] = [];
  /** Answers in place of the server, if it gives `true`. */
  before: (came: Came, response: ServerResponse) => boolean = () => false;
  #server!: Awaited<ReturnType<typeof serve>>;
  readonly #sessions = new Map<string, { transport: StreamableHTTPServerTransport; server: McpServer }>();
  readonly #events = new Events();
  readonly #held: (() => void)[] = [];

  async start(port = 0): Promise<this> {
    this.#server = await serve((request, response) => void this.#serve(request, response), port);
    return this;
  }

  get url(): string {
    return `${this.#server.url}/mcp`;
  }

  get sessions(): string[] {
    return [...this.#sessions.keys()];
  }

  /** The newest session. */
  get session() {
    const last = [...this.#sessions.values()].at(-1);
    if (last === undefined) throw new Error('there is no session');
    return last;
  }

  /** What came with this method of JSON-RPC. */
  of(method: string): Came[] {
    return this.came.filter(({ body }) => body.includes(`"method":"${method}"`));
  }

  /** Forgets all sessions, as a server does that starts again. */
  forget(): void {
    this.#sessions.clear();
  }

  /** Lets the calls of `slow` end. */
  release(): void {
    for (const go of this.#held.splice(0)) go();
  }

  /** Cuts every connection. */
  cut(): void {
    this.#server.server.closeAllConnections();
  }

  async stop(): Promise<void> {
    this.release();
    await this.#server.close();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', headers } = request;
    const came = { method, headers, body: await text(request) };
    this.came.push(came);
    if (this.before(came, response)) return;
    const body = came.body === '' ? undefined : (JSON.parse(came.body) as { method?: string });
    const id = headers['mcp-session-id'];
    const known = typeof id === 'string' ? this.#sessions.get(id) : undefined;
    if (known !== undefined) return known.transport.handleRequest(request, response, body);
    if (body?.method !== 'initialize') {
      const error = { code: -32_001, message: 'Session not found' };
      return void response.writeHead(404).end(JSON.stringify({ jsonrpc: '2.0', error, id: null }));
    }
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      eventStore: this.#events,
      retryInterval: 10,
      onsessioninitialized: (own) => void this.#sessions.set(own, { transport, server }),
    });
    const server = this.#newServer();
    await server.connect(transport);
    return transport.handleRequest(request, response, body);
  }

  #newServer(): McpServer {
    const server = new McpServer({ name: 'sessions', version: '0' });
    const textOf = (said: string) => ({ content: [{ type: 'text' as const, text: said }] });
    server.registerTool('echo', { inputSchema: { said: z.string() } }, ({ said }) => textOf(said));
    // Its first word shows that the stream of the answer has arrived.
    server.registerTool('slow', {}, async ({ sendNotification }) => {
      await sendNotification({ method: 'notifications/progress', params: { progressToken: 'slow', progress: 1 } });
      await new Promise<void>((resolve) => this.#held.push(resolve));
      return textOf('done');
    });
    server.registerTool('ask', {}, async () => {
      const requestedSchema = { type: 'object' as const, properties: { name: { type: 'string' as const } } };
      const answer = await server.server.elicitInput({ message: 'Who?', requestedSchema });
      return textOf(JSON.stringify(answer));
    });
    return server;
  }
}
