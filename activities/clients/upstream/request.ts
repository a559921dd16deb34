import { CLIENT_CAPABILITIES_META_KEY, SdkHttpError, type Client } from '@modelcontextprotocol/client';
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Readable } from 'node:stream';
import { type Clock, orAborted } from '../../../apps/shared/clock.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import { type JsonObject, objectOf } from '../../../workflows/domain/canonical-json.ts';
import type {
  AskableClient,
  Conversation,
  LogMessage,
  Progress,
  Unanswered,
} from '../../../workflows/domain/upstream-ports.ts';
import type { Principal } from '../../../workflows/domain/principal.ts';
import { readFailure } from './answer.ts';
import type { Credentials } from './credentials.ts';
import { asItIs } from './sdk-client.ts';

export interface Connection {
  readonly credentials: Credentials;
  connect(): Promise<Client>;
  request(client: Client, method: string, params: JsonObject, limits: SendingLimits): Promise<unknown>;
  discard(client: Client): void;
  doubt(client: Client): void;
  use<T>(work: () => Promise<T>): Promise<T>;
  /** How long a check of a session may take, in milliseconds. */
  readonly pingMs: number;
}

export interface AskOptions extends Omit<SendingLimits, 'headers'> {
  /** Of this request, over HTTP, beside the credential. Nothing is sent if it throws. */
  readonly headers?: (client: Client) => Promise<Readonly<Record<string, string>>>;
  /** The upstream may want a credential that names the caller. */
  readonly caller?: Principal | undefined;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** An instant of the monotonic clock after which nothing is sent any more. */
  readonly sendBy?: number;
}

export interface UpstreamRequest {
  readonly method: string;
  readonly params: JsonObject;
  readonly conversation?: Conversation | undefined;
}

/**
 * Connects, sends once, and reads the answer. Repeats only where the upstream proved that it lost the session, so that nothing ran; and never
 * throws: a failure says what it proves. A connection that is replaced meanwhile stays open until then.
 */
export async function askOnce<T>(
  connection: Connection,
  request: UpstreamRequest,
  options: AskOptions,
  read: (raw: unknown) => T,
): Promise<T | Unanswered> {
  return connection.use(async () => {
    const first = await askOver(connection, request, options, read);
    if (!(first instanceof LostSession)) return first;
    const second = await askOver(connection, request, options, read);
    return second instanceof LostSession ? second.refusal : second;
  });
}

/** The upstream refused a request because it does not know the session any more: nothing ran. */
class LostSession {
  readonly refusal: Unanswered;

  constructor(refusal: Unanswered) {
    this.refusal = refusal;
  }
}

/** With these, servers refuse a request of a session that they do not know. @see MCP, Streamable HTTP, session management */
const REFUSING = [400, 404, 410];

/** Whether the request failed by its session alone: a harmless request of the same session is refused in the same way. */
async function hasLostSession(client: Client, error: unknown, pingMs: number): Promise<boolean> {
  if (!(error instanceof SdkHttpError) || !REFUSING.includes(error.status)) return false;
  if (client.getProtocolEra() !== 'legacy' || client.transport?.sessionId === undefined) return false;
  return client.ping({ timeout: pingMs }).then(
    () => false,
    (refusal: unknown) => refusal instanceof SdkHttpError && refusal.status === error.status,
  );
}

async function askOver<T>(
  connection: Connection,
  request: UpstreamRequest,
  { caller, clock, sendBy = Infinity, headers, ...limits }: AskOptions,
  read: (raw: unknown) => T,
): Promise<T | Unanswered | LostSession> {
  const prepare = async () => {
    const client = await connection.connect();
    limits.signal.throwIfAborted();
    const credentials = await connection.credentials.headers(caller);
    limits.signal.throwIfAborted();
    return { client, all: { ...credentials, ...(await headers?.(client)) } };
  };
  let prepared;
  try {
    prepared = await orAborted(prepare(), limits.signal);
  } catch (error) {
    return { kind: 'not_sent', cause: error instanceof CountersignError ? error.code : 'aborted' };
  }
  const { client, all } = prepared;
  // Here and not earlier: connecting and getting a credential may take long, and the process may have stood still meanwhile.
  if (clock.monotonicMs() >= sendBy) return { kind: 'not_sent', cause: 'too late' };
  try {
    const params = paramsFor(client, request);
    return read(await connection.request(client, request.method, params, { ...limits, headers: all }));
  } catch (error) {
    const outcome = readFailure(error);
    if (await hasLostSession(client, error, connection.pingMs)) {
      connection.discard(client);
      return new LostSession(outcome);
    }
    if (outcome.kind === 'not_sent') connection.discard(client);
    else connection.doubt(client);
    return outcome;
  }
}

/** Only in the present revision, a request carries the client's capabilities and answers. */
function paramsFor(client: Client, { params, conversation }: UpstreamRequest): JsonObject {
  if (conversation === undefined || client.getProtocolEra() !== 'modern') return params;
  const { capabilities, ...round } = conversation;
  return { ...params, ...round, _meta: { ...objectOf(params['_meta']), [CLIENT_CAPABILITIES_META_KEY]: capabilities } };
}

/** How long an answer that was read may leave its connection open. */
const DRAIN_MS = 1_000;

/** Longer than any deadline a caller sets by its signal; the SDK would otherwise end requests after a minute. */
const NO_TIMEOUT_MS = 2 ** 31 - 1;

const exchanges = new AsyncLocalStorage<Exchange>();

/**
 * One request to an upstream, as `transport.ts` sends it over HTTP. The SDK's transport knows no headers of a single request,
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
   * Hands a log message to the exchange on whose answer it came. Messages name no request: one that came on no answer, as all
   * messages of a program do, may be about another caller's call, and is dropped.
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

  /** Fires when no caller waits for the answer any more. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  run<T>(send: () => Promise<T>): Promise<T> {
    return exchanges.run(this, send);
  }

  begins(body: Readable): void {
    this.#body = body;
  }

  end(): void {
    this.#over.abort();
  }

  fail(why: Error): void {
    this.#failure ??= why;
    this.end();
  }

  /** The cause of its failure, if a better one is known than the error that ended it. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  /** The answer was read. An upstream that goes on sending loses the connection; otherwise it would hold one for every call. */
  settle(clock: Clock): void {
    const body = this.#body;
    if (body === undefined || body.closed) return;
    body.once(
      'close',
      clock.once(DRAIN_MS, () => this.end()),
    );
  }
}

/** The first of these to fire ends the request. */
export interface SendingLimits {
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
  /** Of the one HTTP request, credentials among them. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Gets the log messages that come on the answer. */
  readonly onLog?: (message: LogMessage) => void;
  readonly onProgress?: (progress: Progress) => void;
  /** Whom the upstream may ask. Of no meaning over a connection that all clients share. */
  readonly askable?: AskableClient | undefined;
  /** The lowest severity of log messages. Of no meaning over a shared connection, either. */
  readonly logLevel?: string;
}

/** Sends one request and hands back the result as it came. A failed request leaves nothing open. Never repeats. */
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

const PROGRESS = 'notifications/progress';

/**
 * Hands progress notices to the listeners of their requests. The SDK does so, too, and forgets a listener as soon as the answer
 * arrives: a notice that comes in one piece with the answer would be lost.
 */
export function createProgressNotices() {
  const listeners = new Map<string, (progress: Progress) => void>();
  let tokens = 0;
  return {
    hear: (client: Client) =>
      client.setNotificationHandler(PROGRESS, ({ params: { progressToken, progress, total, message } }) =>
        listeners.get(String(progressToken))?.({
          progress,
          ...(total !== undefined && { total }),
          ...(message !== undefined && { message }),
        }),
      ),

    /** The parameters with which progress is asked for, and how to stop listening. Unchanged parameters without a listener. */
    expect(params: JsonObject, listener: ((progress: Progress) => void) | undefined) {
      if (listener === undefined) return { asking: params, forget: () => undefined };
      const token = `progress-${(tokens += 1)}`;
      listeners.set(token, listener);
      const asking: JsonObject = { ...params, _meta: { ...objectOf(params['_meta']), progressToken: token } };
      return { asking, forget: () => void listeners.delete(token) };
    },
  };
}
