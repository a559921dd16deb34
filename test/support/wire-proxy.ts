import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/**
 * `open`: bytes pass. `silent`: no bytes pass in either direction, without an error; sent bytes arrive when it opens
 * again. `answers held`: requests arrive, answers do not, until it opens. `shut`: connections are cut, new ones
 * refused.
 */
export type Passage = 'open' | 'silent' | 'answers held' | 'shut';

/** Stands between a client and a server on this machine and lets through what the test wants. */
export class WireProxy {
  readonly #server: Server;
  readonly #pairs = new Set<{ client: Socket; upstream: Socket }>();
  #passage: Passage = 'open';

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(target: string): Promise<WireProxy> {
    const [host = '', port] = target.split(':');
    const server = createServer({ allowHalfOpen: false });
    const proxy = new WireProxy(server);
    server.on('connection', (client) => {
      if (proxy.#passage === 'shut') return void client.destroy();
      const upstream = connect(Number(port), host);
      const pair = { client, upstream };
      proxy.#pairs.add(pair);
      const end = () => {
        proxy.#pairs.delete(pair);
        client.destroy();
        upstream.destroy();
      };
      for (const socket of [client, upstream]) socket.on('error', end).on('close', end);
      client.on('data', (chunk) => void upstream.write(chunk));
      upstream.on('data', (chunk) => void client.write(chunk));
      proxy.#apply();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return proxy;
  }

  get address(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  let(passage: Passage): void {
    this.#passage = passage;
    this.#apply();
  }

  #apply(): void {
    for (const { client, upstream } of this.#pairs) {
      if (this.#passage === 'shut') client.destroy();
      if (this.#passage === 'silent') client.pause();
      else client.resume();
      if (this.#passage === 'open') upstream.resume();
      else upstream.pause();
    }
  }

  async stop(): Promise<void> {
    this.let('shut');
    this.#server.close();
    await once(this.#server, 'close');
  }
}
