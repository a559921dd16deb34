import { once } from 'node:events';
import { createServer, type Server } from 'node:http';

/**
 * An upstream over HTTP with two tools, `look` and `note`. It can go away, also between the look at its tools and the
 * following call.
 */
export class MortalUpstream {
  readonly calls: string[] = [];
  /** The arguments of each call, as they came. */
  readonly arguments: unknown[] = [];
  diesAfterList = false;
  #server: Server | undefined;
  readonly #port: number;

  constructor(port: number) {
    this.#port = port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/mcp`;
  }

  async start(): Promise<void> {
    this.diesAfterList = false;
    this.#server = createServer((request, response) => {
      // No connection outlives its answer, so that clients notice a dead server when they connect to it.
      response.setHeader('connection', 'close');
      if (request.method !== 'POST') return void response.writeHead(405).end();
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString()) as Message;
        const result = this.#answer(method, params);
        if (id === undefined) return void response.writeHead(202).end();
        response.writeHead(200, { 'content-type': 'application/json' });
        const error = { code: -32_601, message: 'unknown' };
        response.end(JSON.stringify({ jsonrpc: '2.0', id, ...(result === undefined ? { error } : { result }) }));
      });
    }).listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  #answer(method: string, params: Message['params']): object | undefined {
    switch (method) {
      case 'initialize':
        return {
          protocolVersion: params?.protocolVersion,
          capabilities: { tools: {} },
          serverInfo: { name: 'ledger', version: '1' },
        };
      case 'tools/list':
        if (this.diesAfterList) this.#server?.close();
        return { tools: ['look', 'note'].map((name) => ({ name, inputSchema: { type: 'object' } })) };
      case 'tools/call':
        this.calls.push(params?.name ?? '');
        this.arguments.push(params?.arguments);
        return { content: [{ type: 'text', text: 'noted' }] };
      case 'ping':
        return {};
      default:
        return undefined;
    }
  }

  async stop(): Promise<void> {
    if (!this.#server?.listening) return;
    this.#server.close();
    await once(this.#server, 'close');
  }
}

interface Message {
  readonly id?: number;
  readonly method: string;
  readonly params?: { readonly protocolVersion?: string; readonly name?: string; readonly arguments?: unknown };
}
