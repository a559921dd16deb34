/** A host that starts `countersign stdio`, line by line, with the relay in this process. */
import { PassThrough, Writable } from 'node:stream';
import { Access, type AccessDeps } from '../../apps/cli/stdio/access.ts';
import { relay } from '../../apps/cli/stdio/relay.ts';
import { TokenFile } from '../../apps/cli/stdio/token-file.ts';
import { Upstream } from '../../apps/cli/stdio/upstream.ts';
import type { Clock } from '../../apps/shared/clock.ts';
import { systemTime } from './time.ts';
import { ownFolder } from './test-run.ts';
import { waitFor } from './wait-for.ts';

type Message = Record<string, unknown>;

interface Options {
  /** Sent as it is. Without it, the relay takes its tokens from `access`. */
  readonly token?: string;
  readonly access?: Access;
  readonly clock?: Clock;
}

/** The file of the tokens in a home folder of its own. */
export const ownTokenFile = (url: string, home = ownFolder('countersign-home-')): TokenFile =>
  new TokenFile(url, { COUNTERSIGN_HOME: home });

/** Access to tokens of this file, for a machine without a browser. */
export function accessOf(file: TokenFile, changes: Partial<AccessDeps> = {}): Access {
  return new Access({
    file,
    startSignIn: () => ({ ended: Promise.resolve('no sign-in in this test') }),
    command: 'npx countersign stdio --sign-in',
    fetch,
    ...systemTime,
    ...changes,
  });
}

/** Each line that the relay has written, and each that it has logged. */
export class StdioHost {
  readonly lines: string[] = [];
  readonly logged: string[] = [];
  readonly #input = new PassThrough();
  readonly #stop = new AbortController();
  readonly #ended: Promise<void>;

  constructor(url: string, { token = 'a-token', access, clock = systemTime.clock }: Options = {}) {
    const { limits } = systemTime;
    const own = access ?? accessOf(ownTokenFile(url), { given: token });
    let rest = '';
    // Like a pipe, it takes a long line only some time after it was written.
    const output = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        const parts = (rest + chunk.toString('utf8')).split('\n');
        rest = parts.pop() ?? '';
        this.lines.push(...parts);
        setImmediate(done);
      },
    });
    this.#ended = relay({
      ...{ input: this.#input, output, clock, limits, signal: this.#stop.signal },
      upstream: new Upstream({ url, access: own, clock, limits }),
      log: (line) => void this.logged.push(line),
    });
  }

  /** Writes a line; a message becomes one. */
  send(...lines: (string | Buffer | Message)[]): void {
    for (const line of lines) {
      this.#input.write(typeof line === 'string' || Buffer.isBuffer(line) ? line : JSON.stringify(line));
      this.#input.write('\n');
    }
  }

  /** Writes bytes as they are, for lines that come in parts. */
  write(bytes: Buffer): void {
    this.#input.write(bytes);
  }

  get messages(): Message[] {
    return this.lines.map((line) => JSON.parse(line) as Message);
  }

  /** Sends a request, and waits for its answer. */
  async ask(id: number | string, method: string, params: object = {}): Promise<Message> {
    this.send({ jsonrpc: '2.0', id, method, params });
    return this.answer(id);
  }

  answer(id: number | string): Promise<Message> {
    return waitFor(() => this.messages.find((one) => one['id'] === id && !('method' in one)));
  }

  /** The first message with this method. */
  told(method: string): Promise<Message> {
    return waitFor(() => this.messages.find((one) => one['method'] === method));
  }

  /** Closes its side, as a host does at its end. */
  close(): Promise<void> {
    this.#input.end();
    return this.#ended;
  }

  /** A signal to the relay. */
  stop(): Promise<void> {
    this.#stop.abort();
    return this.#ended;
  }
}
