import { once } from 'node:events';
import { createServer, request as ask, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

type Json = Record<string, unknown>;
const META = 'io.modelcontextprotocol/';

/** What the gateway saw of a client. */
export interface Seen {
  /** The last name that it gave itself. */
  clientName?: string | undefined;
  /** The revision of its last message. */
  revision?: string;
  /** Whether its last call of a tool asked for progress. */
  asksForProgress?: boolean;
  /** The methods that it has used. */
  readonly methods: Set<string>;
  /** The tools that it has called, oldest first. */
  readonly tools: string[];
  /** What it answered to the questions of tasks, such as `accept`, oldest first. */
  readonly answers: string[];
}

/** A reverse proxy in front of the gateway, as installations have one. It notes what clients send, and changes nothing. */
export class Tap {
  seen: Seen = { methods: new Set(), tools: [], answers: [] };
  /** Port of the gateway. */
  target = 0;
  readonly #server: Server;

  constructor() {
    this.#server = createServer((incoming, outgoing) => this.#relay(incoming, outgoing));
    // A call may wait in silence.
    this.#server.requestTimeout = 0;
  }

  async start(): Promise<this> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Forgets what it has noted. */
  forget(): void {
    this.seen = { methods: new Set(), tools: [], answers: [] };
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #relay(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const { method, url, headers } = incoming;
    // A connection of its own: the gateway may close a kept one at the moment at which it is used again.
    const onward = ask({ host: '127.0.0.1', port: this.target, method, path: url, headers, agent: false });
    onward.on('response', (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
      answer.on('error', () => outgoing.destroy());
    });
    onward.on('error', () => (outgoing.headersSent ? outgoing.destroy() : outgoing.writeHead(502).end()));
    outgoing.on('close', () => onward.destroy());
    const parts: Buffer[] = [];
    incoming.on('data', (part: Buffer) => parts.push(part));
    incoming.on('end', () => this.#note(Buffer.concat(parts).toString('utf8'), headers));
    incoming.pipe(onward);
  }

  #note(body: string, headers: IncomingMessage['headers']): void {
    let message: Json;
    try {
      message = JSON.parse(body) as Json;
    } catch {
      return;
    }
    const { method, params = {} } = message as { method?: string; params?: Json };
    if (method === undefined) return;
    const meta = (params['_meta'] ?? {}) as Json;
    const info = (meta[`${META}clientInfo`] ?? params['clientInfo']) as { name?: string } | undefined;
    const revision = headers['mcp-protocol-version'] ?? meta[`${META}protocolVersion`];
    this.seen.methods.add(method);
    this.seen.clientName = info?.name ?? this.seen.clientName;
    if (typeof revision === 'string' && method !== 'initialize') this.seen.revision = revision;
    const answers = Object.values((params['inputResponses'] ?? {}) as Record<string, { action?: string }>);
    if (method === 'tasks/update') this.seen.answers.push(...answers.map(({ action = '' }) => action));
    if (method !== 'tools/call') return;
    this.seen.tools.push(String(params['name']));
    this.seen.asksForProgress = 'progressToken' in meta;
  }
}
