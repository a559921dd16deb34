import { AsyncLocalStorage } from 'node:async_hooks';
import type { Readable } from 'node:stream';
import type { Client } from '@modelcontextprotocol/client';
import type { Clock } from '../../apps/shared/clock.ts';
import type { JsonObject } from '../../workflows/domain/canonical-json.ts';
import type { LogMessage } from '../../workflows/domain/upstream-ports.ts';
import { wholeResult } from './task-taking-client.ts';

/** How long an answer that was read may leave its connection open. */
const DRAIN_MS = 1_000;

/** More than an upstream needs that answers. */
const MAX_ASIDES = 16;
/** Longer than any deadline a caller sets by its signal; the SDK would otherwise end requests after a minute. */
const NO_TIMEOUT_MS = 2 ** 31 - 1;

/** Accepts everything and changes nothing: what the upstream says arrives complete. */
const asItIs = {
  '~standard': {
    version: 1 as const,
    vendor: 'countersign',
    validate: (value: unknown) => ({ value: wholeResult(value) }),
  },
};

const exchanges = new AsyncLocalStorage<Exchange>();

/**
 * One request to an upstream, for whoever sends it over HTTP: the transport of the SDK knows no headers of a single request,
 * and in earlier revisions does not close the connection of a request that was given up.
 */
export class Exchange {
  /** Of its HTTP request, credentials among them. Undefined: those that every request has. */
  readonly headers: Readonly<Record<string, string>> | undefined;
  readonly onLog: ((message: LogMessage) => void) | undefined;
  readonly #over = new AbortController();
  #body: Readable | undefined;
  #failure: Error | undefined;
  #isTaken = false;

  constructor({ headers, onLog }: Pick<SendingLimits, 'headers' | 'onLog'>) {
    this.headers = headers;
    this.onLog = onLog;
  }

  /**
   * Tells whoever waits for the exchange on whose answer the message came. Messages name no request: one that came on no answer,
   * as all of a program do, may be about the call of somebody else, and is heard by nobody.
   */
  static log(message: LogMessage): void {
    exchanges.getStore()?.onLog?.(message);
  }

  /**
   * The exchange that is under way, for the first HTTP request made within it and for no other: a notice that the request is
   * cancelled belongs to the same call, but neither carries its key nor ends with it.
   */
  static take(): Exchange | undefined {
    const exchange = exchanges.getStore();
    if (exchange === undefined || exchange.#isTaken) return undefined;
    exchange.#isTaken = true;
    return exchange;
  }

  /** Fires when nobody waits for the answer any more. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  run<T>(send: () => Promise<T>): Promise<T> {
    return exchanges.run(this, send);
  }

  /** The answer has begun to arrive. */
  begins(body: Readable): void {
    this.#body = body;
  }

  /** Gives the request up, and closes its connection. */
  end(): void {
    this.#over.abort();
  }

  /** The same, for this reason. */
  fail(why: Error): void {
    this.#failure ??= why;
    this.end();
  }

  /** Why it failed, if that is known better than by what ended it. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  /** The answer was read. Whoever goes on sending after it loses the connection, or would hold one for every call. */
  settle(clock: Clock): void {
    const body = this.#body;
    if (body === undefined || body.closed) return;
    body.once(
      'close',
      clock.once(DRAIN_MS, () => this.end()),
    );
  }
}

/** Requests to one upstream that are no calls: notices, streams of notices, answers to what it asks. */
export class Asides {
  #open = 0;

  /** Answers how to leave again. Throws when too many are open: one that never takes our answers would hold a connection for each. */
  enter(): () => void {
    if (this.#open >= MAX_ASIDES) throw new Error('the upstream does not take what it asked for');
    this.#open += 1;
    return () => void (this.#open -= 1);
  }
}

/** Whatever fires first ends the request. */
export interface SendingLimits {
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
  /** Of the one HTTP request, credentials among them. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Told what the upstream logs on the answer. */
  readonly onLog?: (message: LogMessage) => void;
}

/** Sends one request and hands back the result as it came. When it fails, nothing of it is left open. Never repeats. */
export async function sendOnce(
  client: Client,
  request: { readonly method: string; readonly params: JsonObject },
  { signal, timeoutMs = NO_TIMEOUT_MS, ...own }: SendingLimits,
  clock: Clock,
): Promise<unknown> {
  const exchange = new Exchange(own);
  const leave = () => exchange.end();
  signal?.addEventListener('abort', leave, { once: true });
  if (signal?.aborted === true) leave();
  const options = { signal: exchange.over, timeout: timeoutMs, allowInputRequired: true };
  const { method, params } = request;
  try {
    const result = await exchange.run(() => client.request({ method, params: { ...params } }, asItIs, options));
    exchange.settle(clock);
    return result;
  } catch (error) {
    // An answer that never ends would hold a connection for each call.
    exchange.end();
    throw exchange.failure ?? error;
  } finally {
    signal?.removeEventListener('abort', leave);
  }
}
