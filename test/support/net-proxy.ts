import { createServer, connect, type AddressInfo, type Socket } from 'node:net';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { messageReader, statementOf, type Message } from './pg-messages.ts';

/** The fate of bytes and connections: passed on, turned away, or swallowed silently. */
export type Weather = 'pass' | 'refuse' | 'blackhole';

/** Where a connection breaks: around one run of a prepared statement (by its name) or of a simple query (by its text). */
export interface Cut {
  readonly statement: string;
  /** `before`: the server never sees it. `after`: the server has committed it, and no client is told. */
  readonly when: 'before' | 'after';
  /** The number of the run to cut, from 1. */
  readonly nth?: number;
  /** How many runs in a row. */
  readonly times?: number;
}

interface Armed extends Cut {
  seen: number;
  left: number;
  readonly done: () => void;
}

/** A TCP proxy before a PostgreSQL server, which loses data when a test tells it to. */
export class NetProxy {
  readonly #server = createServer((client) => this.#accept(client));
  readonly #pairs = new Set<{ client: Socket; upstream: Socket }>();
  readonly #cuts = new Set<Armed>();
  #target = { host: '127.0.0.1', port: 0 };
  weather: Weather = 'pass';
  /** Each piece from the server comes this much later. */
  delayMs = 0;
  /** Connections are reset after the server has sent this many bytes over one of them. */
  resetAfterBytes = Infinity;

  /** Listens, and answers the address of the database as it looks from this side. */
  async listen(databaseUrl: string): Promise<string> {
    const url = new URL(databaseUrl);
    this.#target = { host: url.hostname, port: Number(url.port) };
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    url.host = `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    return url.href;
  }

  /** Arms a cut. The promise resolves once the cut has been made the requested number of times. */
  cut(cut: Cut): Promise<void> {
    return new Promise((done) => {
      this.#cuts.add({ ...cut, seen: 0, left: cut.times ?? 1, done });
    });
  }

  /** Breaks all connections. */
  dropAll(): void {
    for (const { client, upstream } of this.#pairs) {
      client.resetAndDestroy();
      upstream.destroy();
    }
  }

  get connections(): number {
    return this.#pairs.size;
  }

  async close(): Promise<void> {
    this.dropAll();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #accept(client: Socket): void {
    client.on('error', () => undefined);
    if (this.weather === 'refuse') return void client.resetAndDestroy();
    const upstream = connect(this.#target);
    upstream.on('error', () => undefined);
    const pair = { client, upstream };
    this.#pairs.add(pair);
    const end = () => {
      this.#pairs.delete(pair);
      client.destroy();
      upstream.destroy();
    };
    client.once('close', end);
    upstream.once('close', end);
    this.#relay(client, upstream);
  }

  #relay(client: Socket, upstream: Socket): void {
    const asked = messageReader({ startsWithoutType: true });
    const answered = messageReader({ startsWithoutType: false });
    /** The cut whose statement runs on this connection now: no more data is passed back. */
    let cutting: Armed | undefined;
    let sent = 0;
    const breakOff = (cut: Armed) => {
      client.resetAndDestroy();
      upstream.destroy();
      finish(cut);
    };
    const finish = (cut: Armed) => {
      cut.left -= 1;
      if (cut.left > 0) return;
      this.#cuts.delete(cut);
      cut.done();
    };
    client.on('data', (chunk: Buffer) => {
      if (this.weather !== 'pass') return;
      for (const message of asked(chunk)) {
        const cut = this.#cutFor(message);
        if (cut?.when === 'before') return breakOff(cut);
        cutting ??= cut;
        upstream.write(message.bytes);
      }
    });
    upstream.on('data', (chunk: Buffer) => {
      if (this.weather !== 'pass') return;
      const cut = cutting;
      if (cut !== undefined) {
        // `Z`: the server is ready for the next statement, so this one has been committed, or refused.
        if (answered(chunk).some(({ type }) => type === 'Z')) breakOff(cut);
        return;
      }
      answered(chunk);
      sent += chunk.length;
      if (sent > this.resetAfterBytes) return void client.resetAndDestroy();
      if (this.delayMs === 0) return void client.write(chunk);
      void pause(this.delayMs).then(() => client.writable && client.write(chunk));
    });
  }

  #cutFor(message: Message): Armed | undefined {
    const statement = statementOf(message);
    if (statement === undefined) return undefined;
    for (const cut of this.#cuts) {
      if (cut.statement !== statement) continue;
      cut.seen += 1;
      if (cut.seen >= (cut.nth ?? 1) && cut.left > 0) return cut;
    }
    return undefined;
  }
}
