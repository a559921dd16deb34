import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { type Json, jsonIn, type JsonObject, objectOf } from '../../../workflows/domain/canonical-json.ts';
import type { Clock } from '../../shared/clock.ts';
import type { Limits } from '../../shared/limits.ts';
import { Exchange, type Request } from './exchange.ts';
import { MirroredTools, revisionIn } from './headers.ts';
import { eachOf, linesOf, requestIdOf } from './messages.ts';
import { Session } from './session.ts';
import type { Upstream } from './upstream.ts';

const CANCELLED = 'notifications/cancelled';
const INITIALIZED = 'notifications/initialized';

export interface RelayDeps {
  readonly input: Readable;
  readonly output: Writable;
  readonly upstream: Upstream;
  /** A line for the person who looks for a fault. */
  readonly log: (line: string) => void;
  readonly clock: Clock;
  readonly limits: Limits;
  /** Ends the relay before its input ends. */
  readonly signal: AbortSignal;
}

/**
 * Passes the messages of a host on, in both directions, until its input ends. Bodies pass as they are: only headers and the session of
 * HTTP are added, which a host over stdio does not know. Every request gets an answer, or an error that says what to do.
 */
export async function relay(deps: RelayDeps): Promise<void> {
  const { input, log, clock, limits, signal } = deps;
  const running = new Relay(deps);
  const stop = () => input.destroy();
  signal.addEventListener('abort', stop, { once: true });
  try {
    for await (const line of linesOf(input)) running.take(line);
    // A person may pipe messages in, and wants to see the answers.
    const isIdle = running.idle().then(() => true);
    if ((await Promise.race([isIdle, clock.after(limits.hostEndMs, signal)])) !== true) {
      log('The host closed its side before all answers had come.');
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    signal.removeEventListener('abort', stop);
    await running.end();
  }
}

interface Begun extends Request {
  readonly end: () => void;
}

class Relay {
  readonly #deps: RelayDeps;
  readonly #session: Session;
  readonly #exchange: Exchange;
  readonly #over = new AbortController();
  readonly #work = new Set<Promise<void>>();
  /** Requests under way, by their id. */
  readonly #open = new Map<string, { readonly isModern: boolean; readonly abort: AbortController }>();
  /** Resolves when all that later messages rest on has arrived. */
  #turn: Promise<void> = Promise.resolve();
  #written: Promise<void> = Promise.resolve();

  constructor(deps: RelayDeps) {
    this.#deps = deps;
    const { upstream, clock, limits } = deps;
    const common = { upstream, clock, limits, write: (text: string) => this.#write(text), signal: this.#over.signal };
    this.#session = new Session(common);
    this.#exchange = new Exchange({ ...common, session: this.#session, tools: new MirroredTools() });
  }

  /** Takes one line of the host. */
  take(line: Buffer): void {
    const messages = eachOf(jsonIn(line.toString('utf8')));
    if (messages.length === 0) return this.#deps.log('A line of the host is no message, and was left out.');
    if (messages.length === 1 && this.#cancels(objectOf(messages[0]))) return;
    const requests = messages.filter((message) => requestIdOf(message) !== undefined);
    const isOpening = messages.some(({ method }) => method === 'initialize');
    const request = this.#begin(line, messages, requests);
    const work = this.#turn.then(() => this.#pass(request));
    // Servers may demand this order, and requests over HTTP overtake each other.
    if (isOpening || requests.length === 0) this.#turn = work;
    this.#work.add(work);
    void work.finally(() => this.#work.delete(work));
  }

  /** Ends a request of the present revision, in which a client over HTTP closes the connection and sends nothing. */
  #cancels({ method, params }: JsonObject): boolean {
    if (method !== CANCELLED) return false;
    const request = this.#open.get(JSON.stringify(objectOf(params)['requestId']));
    if (request?.isModern !== true) return false;
    request.abort.abort();
    return true;
  }

  #begin(line: Buffer, messages: readonly JsonObject[], requests: readonly JsonObject[]): Begun {
    const abort = new AbortController();
    const revision = messages.map(revisionIn).find((one) => one !== undefined);
    const ids = requests.map(requestIdOf).filter((id): id is Json => id !== undefined);
    for (const id of ids) this.#open.set(JSON.stringify(id), { isModern: revision !== undefined, abort });
    return { line, messages, ids, revision, signal: abort.signal, end: () => abort.abort() };
  }

  async #pass({ end, ...request }: Begun): Promise<void> {
    const { messages, ids } = request;
    this.#over.signal.addEventListener('abort', end, { once: true });
    if (this.#over.signal.aborted) end();
    try {
      const trouble = await this.#exchange.pass(request);
      if (trouble !== undefined) this.#deps.log(trouble);
      if (messages.some(({ method }) => method === INITIALIZED)) void this.#session.listen();
    } finally {
      for (const id of ids) this.#open.delete(JSON.stringify(id));
      this.#over.signal.removeEventListener('abort', end);
    }
  }

  /** Writes one message, after the one before it was taken. */
  #write(text: string): Promise<void> {
    const { output } = this.#deps;
    this.#written = this.#written.then(async () => {
      if (output.destroyed || output.write(`${text}\n`)) return;
      const waited = new AbortController();
      const events = ['drain', 'close'].map((name) => once(output, name, { signal: waited.signal }));
      await Promise.race(events).catch(() => undefined);
      // Otherwise each wait would leave a listener at the output.
      waited.abort();
    });
    return this.#written;
  }

  /** Resolves when no request is under way. */
  async idle(): Promise<void> {
    while (this.#work.size > 0) await Promise.all(this.#work);
  }

  async end(): Promise<void> {
    const { clock, limits, upstream } = this.#deps;
    this.#over.abort();
    await this.#session.end(clock.signalAfter(limits.hostEndMs)).catch(() => undefined);
    await upstream.close();
  }
}
