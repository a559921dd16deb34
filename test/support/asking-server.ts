/** A server on the official package of earlier revisions, whose tools ask the client in every way that the package has. */
import { randomUUID } from 'node:crypto';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { ResultSchema, UrlElicitationRequiredError } from '@modelcontextprotocol/sdk/types.js';
import express, { type Request, type Response } from 'express';
import * as z from 'zod';
import { serve } from './serve.ts';

export const SCHEMA = {
  type: 'object' as const,
  properties: { name: { type: 'string' as const } },
  required: ['name'],
};
const SAMPLING = {
  messages: [{ role: 'user' as const, content: { type: 'text' as const, text: 'Guess.' } }],
  maxTokens: 9,
};
const QUESTIONS: Readonly<Record<string, Record<string, unknown>>> = {
  'elicitation/create': {
    message: 'Who are you?',
    requestedSchema: SCHEMA,
    _meta: { 'dev.countersign/forged': 1, own: 2 },
  },
  'sampling/createMessage': SAMPLING,
  'roots/list': {},
};

const said = (value: unknown) => ({ content: [{ type: 'text' as const, text: JSON.stringify(value) }] });
const errorOf = ({ code, message }: { code?: number; message: string }) => ({ code, message });

/** A session that a client began. */
interface Begun {
  readonly server: McpServer;
  readonly transport: StreamableHTTPServerTransport;
}

export class AskingServer {
  /** What each client declared, and with which credential. */
  readonly began: { readonly capabilities: unknown; readonly authorization: string | undefined }[] = [];
  /** The method of each request, an answer being `answer`, with its credential and its session. */
  readonly came: {
    readonly method: string;
    readonly authorization: string | undefined;
    readonly session: string | undefined;
  }[] = [];
  /** What became of the questions that were asked after their call. */
  readonly late: unknown[] = [];
  /** Open streams of GET requests. */
  listening = 0;
  /** GET requests get no answer, until their clients leave. */
  opensNoStreams = false;
  readonly #held: (() => void)[] = [];
  readonly #sessions = new Map<string, Begun>();
  #http!: Awaited<ReturnType<typeof serve>>;

  async start(): Promise<this> {
    const app = express().use(express.json());
    app.all('/mcp', (request, response) => this.#serve(request, response));
    this.#http = await serve(app);
    return this;
  }

  get url(): string {
    return `${this.#http.url}/mcp`;
  }

  /** Calls of `hold` that have not ended. */
  get holds(): number {
    return this.#held.length;
  }

  /** Lets the calls of `hold` end. */
  release(): void {
    for (const go of this.#held.splice(0)) go();
  }

  reset(): void {
    for (const list of [this.began, this.came, this.late]) list.length = 0;
    this.opensNoStreams = false;
  }

  /** Tells every client that what it was asked to do at an address is done. */
  async done(elicitationId: string): Promise<void> {
    for (const { server } of this.#sessions.values()) {
      const declared = server.server.getClientCapabilities()?.elicitation?.url !== undefined;
      if (declared) await server.server.createElicitationCompletionNotifier(elicitationId)();
    }
  }

  async close(): Promise<void> {
    this.release();
    for (const { transport } of this.#sessions.values()) await transport.close();
    await this.#http.close();
  }

  async #serve(request: Request, response: Response): Promise<void> {
    const authorization = request.get('authorization');
    const { method = 'answer', params } = (request.body ?? {}) as { method?: string; params?: Record<string, unknown> };
    const id = request.get('mcp-session-id');
    if (request.method === 'POST') this.came.push({ method, authorization, session: id });
    if (method === 'initialize') this.began.push({ capabilities: params?.['capabilities'], authorization });
    if (request.method === 'GET') {
      this.listening += 1;
      response.once('close', () => (this.listening -= 1));
    }
    if (request.method === 'GET' && this.opensNoStreams) return;
    const { transport } = (id === undefined ? await this.#begin() : this.#sessions.get(id)) ?? {};
    if (transport === undefined) return void response.status(404).end();
    await transport.handleRequest(request, response, request.body);
  }

  async #begin(): Promise<Begun> {
    const server = this.#newServer();
    const transport: StreamableHTTPServerTransport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void this.#sessions.set(id, { server, transport }),
    });
    await server.connect(transport);
    return { server, transport };
  }

  #newServer(): McpServer {
    const server = new McpServer({ name: 'asking', version: '1' }, { capabilities: { logging: {} } });
    const { server: raw } = server;
    // On the answer to its call.
    server.registerTool('ask', { inputSchema: { method: z.string() } }, async ({ method }, { sendRequest }) =>
      said(await sendRequest({ method, params: QUESTIONS[method] ?? {} } as never, ResultSchema).catch(errorOf)),
    );
    // On the stream that belongs to no call, without a word of the call.
    server.registerTool('ask_aside', { inputSchema: { method: z.string() } }, async ({ method }) =>
      said(await raw.request({ method, params: QUESTIONS[method] ?? {} }, ResultSchema).catch(errorOf)),
    );
    server.registerTool('ask_late', {}, () => {
      void this.#askLate(server);
      return said('asked later');
    });
    server.registerTool('hold', {}, async () => {
      await new Promise<void>((resolve) => this.#held.push(resolve));
      return said('released');
    });
    server.registerTool('sign_in', {}, async () => {
      const at = {
        mode: 'url' as const,
        elicitationId: 'sign-in-1',
        url: 'https://sign-in.test/',
        message: 'Sign in.',
      };
      return said(await raw.elicitInput(at).catch(errorOf));
    });
    server.registerTool('sign_in_first', {}, () => {
      const at = {
        mode: 'url' as const,
        elicitationId: 'sign-in-2',
        url: 'https://sign-in.test/',
        message: 'Sign in.',
      };
      throw new UrlElicitationRequiredError([at]);
    });
    server.registerTool('log', {}, async ({ sendNotification }) => {
      await sendNotification({ method: 'notifications/message', params: { level: 'debug', data: 'a debug message' } });
      return said('logged');
    });
    server.registerPrompt('about', {}, async ({ sendRequest }) => {
      const question = { method: 'elicitation/create', params: QUESTIONS['elicitation/create'] };
      const answer = await sendRequest(question, ResultSchema);
      return { messages: [{ role: 'user', content: { type: 'text', text: JSON.stringify(answer) } }] };
    });
    return server;
  }

  /** Once the calls of `hold` are let go. */
  async #askLate({ server }: McpServer): Promise<void> {
    await new Promise<void>((resolve) => this.#held.push(resolve));
    const question = { method: 'elicitation/create', params: QUESTIONS['elicitation/create'] };
    this.late.push(await server.request(question, ResultSchema).catch(errorOf));
  }
}
