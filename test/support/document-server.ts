/** A server of documents by which hosts name themselves, over TLS, as hostile as a test wants it. */
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { packagePath } from '../../apps/shared/config/files.ts';
import { KEPT_OPEN_MS } from '../../apps/shared/http/listen.ts';

const tls = (name: string) => readFileSync(packagePath('test', 'fixtures', 'tls', name), 'utf8');

/** The authority that signed the certificate of this server. */
export const DOCUMENT_CA = tls('ca.pem');

type Answer = (response: ServerResponse, clientId: string) => void;

export class DocumentServer {
  /** Answers of this server, by path. */
  readonly answers = new Map<string, Answer>();
  /** Paths of all requests. */
  readonly requests: string[] = [];
  /** Number of connections. */
  connections = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  constructor() {
    this.#server = createServer(
      { key: tls('server.key'), cert: tls('server.pem'), keepAliveTimeout: KEPT_OPEN_MS },
      (request, response) => {
        const path = request.url ?? '';
        this.requests.push(path);
        const answer = this.answers.get(path);
        if (answer === undefined) response.writeHead(404).end();
        else answer(response, this.idOf(path));
      },
    );
    this.#server.on('connection', (socket: Socket) => {
      this.connections += 1;
      this.#sockets.add(socket);
    });
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** The client id of the host whose document is at this path. */
  idOf(path: string): string {
    return `https://127.0.0.1:${this.port}${path}`;
  }

  /** Serves this document, with the client id of its address. */
  serve(path: string, document: Record<string, unknown> = {}, headers: Record<string, string> = {}): string {
    this.answers.set(path, (response, clientId) => {
      response.writeHead(200, { 'content-type': 'application/json', ...headers });
      response.end(JSON.stringify({ client_id: clientId, ...GOOD, ...document }));
    });
    return this.idOf(path);
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

const GOOD = { client_name: 'Documented', redirect_uris: ['http://localhost/callback'] };
